#include "larmor/judge/shown_cases.h"

#include <algorithm>
#include <cstddef>

namespace larmor {

ShownCases::ShownCases(const Dataset& dataset, int64_t ranks)
    : dataset_(dataset), shown_(std::make_shared<const std::vector<int64_t>>(dataset.shown(ranks))) {}

std::optional<int64_t> ShownCases::shown_as(int64_t example) const {
  constexpr std::ptrdiff_t most_while_training = 4;
  if (!wants_pictures()) return std::nullopt;
  const std::ptrdiff_t place = std::ranges::find(*shown_, example) - shown_->begin();
  const bool is_shown =
      place < std::ssize(*shown_) && (depth() == ValidationDepth::full || place < most_while_training);
  return is_shown ? std::optional<int64_t>(place) : std::nullopt;
}

std::string ShownCases::case_name(int64_t example) const {
  const Caption caption = dataset_.caption(example);
  return caption.title.empty() ? dataset_.name(example) : caption.title;
}

void ShownCases::show_beside(const std::string& name, const std::string& case_name, PanelImage image) {
  const auto panel = panels_.find(name);
  if (panel == panels_.end()) return;
  const auto one = std::ranges::find(panel->second.cases, case_name, &PanelCase::name);
  if (one != panel->second.cases.end()) one->images.push_back(std::move(image));
}

void ShownCases::show(const std::string& name, const Panel& frame, PanelCase one) {
  Panel& panel = panels_.try_emplace(name, frame).first->second;
  if (panel.unit_of_length == frame.unit_of_length) panel.cases.push_back(std::move(one));
}

void ShownCases::take_pictures(ShownCases& more) {
  for (auto& picture : std::exchange(more.pictures_, {})) pictures_.push_back(std::move(picture));
  for (auto& [name, panel] : more.panels_) {
    std::vector<PanelCase> cases = std::exchange(panel.cases, {});
    for (PanelCase& one : cases) show(name, panel, std::move(one));
  }
}

std::vector<std::pair<std::string, Image>> ShownCases::drawn_pictures() const {
  std::vector<std::pair<std::string, Image>> pictures = pictures_;
  for (const auto& [name, panel] : panels_) pictures.emplace_back(name, draw_panel(panel));
  return pictures;
}

}  // namespace larmor

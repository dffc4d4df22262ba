#include "larmor/track/validation_table.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "larmor/base/table.h"
#include "larmor/base/text.h"
#include "larmor/track/progress.h"

namespace larmor {
namespace {

constexpr std::string_view validation_prefix = "val/";

std::string without_prefix(const std::string& name) {
  return name.starts_with(validation_prefix) ? name.substr(validation_prefix.size()) : name;
}

std::string change_of(double value, double before) {
  if (!std::isfinite(value) || !std::isfinite(before)) return {};
  const double change = value - before;
  return change == 0 ? "=" : text(change > 0 ? "+" : "", short_number(change));
}

}  // namespace

ValidationTable::ValidationTable(const ConsoleOptions& options)
    : figures_(options.figures),
      metric_(options.metric),
      lower_is_better_(options.lower_is_better),
      best_(options.best) {}

bool ValidationTable::is_best(const std::string& name, double value) {
  if (name != metric_ || !std::isfinite(value)) return false;
  if (best_ && (lower_is_better_ ? value >= *best_ : value <= *best_)) return false;
  best_ = value;
  return true;
}

std::vector<std::string> ValidationTable::lines(const Values& values) {
  std::vector<std::string> names;
  for (const DeclaredFigure& figure : figures_) names.push_back(std::string(validation_prefix) + figure.name);
  for (const auto& [name, value] : values) {
    if (find_figure(figures_, without_prefix(name)) == nullptr) names.push_back(name);
  }
  Table table;
  for (const std::string& name : names) {
    const auto value = values.find(name);
    if (value == values.end() || name.find('@') != std::string::npos) continue;
    std::string shown = without_prefix(name), number = short_number(value->second);
    if (const auto* const figure = find_figure(figures_, shown)) {
      if (figure->better != Better::neither) shown += " " + arrow_of(figure->better);
      if (!figure->unit.empty()) number += " " + figure->unit;
    }
    const auto before = last_.find(name);
    const std::string change = before == last_.end() ? "" : change_of(value->second, before->second);
    table.add({shown, number, change, is_best(name, value->second) ? "best so far" : ""});
  }
  last_ = values;
  std::vector<std::string> lines;
  for (std::string& line : split(table.to_text(2), '\n')) {
    line.resize(line.find_last_not_of(' ') + 1);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace larmor

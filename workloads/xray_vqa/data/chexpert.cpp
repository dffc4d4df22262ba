#include "workloads/xray_vqa/data/chexpert.h"

#include <charconv>

#include "larmor/base/text.h"

namespace larmor::xray_vqa {

std::optional<Label> label_of_cell(std::string_view cell, Uncertain uncertain) {
  cell = trim(cell);
  if (cell.empty()) return Label{};
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) return std::nullopt;
  if (value == 1 || value == 0) return Label{static_cast<float>(value), true};
  if (value != -1) return std::nullopt;
  switch (uncertain) {
    case Uncertain::ones:
      return Label{1, true};
    case Uncertain::zeros:
      return Label{0, true};
    case Uncertain::soft:
      return Label{0.5F, true};
    case Uncertain::ignore:
      break;
  }
  return Label{};
}

}  // namespace larmor::xray_vqa

#include "larmor/base/declared_figure.h"

#include <algorithm>

namespace larmor {

const DeclaredFigure* find_figure(const DeclaredFigures& figures, std::string_view name) {
  const auto found = std::ranges::find(figures, name, &DeclaredFigure::name);
  return found == figures.end() ? nullptr : &*found;
}

std::string to_text(Better better) {
  if (better == Better::higher) return "higher";
  return better == Better::lower ? "lower" : "";
}

std::string arrow_of(Better better) {
  if (better == Better::higher) return "↑";
  return better == Better::lower ? "↓" : "";
}

}  // namespace larmor

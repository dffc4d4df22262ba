#include "larmor/task/case_columns.h"

#include <algorithm>

#include "larmor/base/text.h"

namespace larmor {

const CaseColumn* column_named(const CaseColumns& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &CaseColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

CaseColumns noted_figures(const DeclaredFigures& declared, const CaseValues& cases) {
  CaseColumns columns;
  for (const DeclaredFigure& figure : declared) {
    for (const auto& [name, per_case] : cases) {
      if (!name.starts_with(figure.name + " ") && name != figure.name) continue;
      const std::string part = name.size() > figure.name.size() ? name.substr(figure.name.size() + 1) : "";
      columns.push_back({.name = part.empty() ? name : text(figure.name, "_", part),
                         .meaning = part.empty() ? figure.meaning : text(figure.meaning, ", ", part),
                         .unit = figure.unit,
                         .numbers = {per_case.begin(), per_case.end()}});
    }
  }
  return columns;
}

}  // namespace larmor

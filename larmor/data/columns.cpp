#include "larmor/data/columns.h"

#include <algorithm>
#include <cstddef>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

/// Letters and digits alone: "NIFTI path" and "nifti_Path" are one name.
std::string bare(std::string_view name) {
  std::string kept;
  for (const char letter : lower(name)) {
    if (letter != ' ' && letter != '_' && letter != '-' && letter != '.') kept += letter;
  }
  return kept;
}

bool is_called(const std::string& column, std::string_view name) {
  const auto bared = bare(column);
  if (name.ends_with('*')) return bared.starts_with(name.substr(0, name.size() - 1));
  return bared == name;
}

int64_t guess_column(const CsvTable& table, const WantedColumn& wanted, const std::string& place) {
  for (const auto name : wanted.names) {
    std::vector<std::string> found;
    int64_t at = no_column;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (!is_called(table.columns[i], name)) continue;
      found.push_back(table.columns[i]);
      at = static_cast<int64_t>(i);
    }
    if (found.size() == 1) return at;
    if (found.empty()) continue;
    fail(Exit::data, text(place, ": the columns ", join(found, ", "), " could each be ", wanted.meaning),
         text("say which: data.columns.", wanted.key, "=\"", found.front(), "\""));
  }
  return no_column;
}

}  // namespace

int64_t find_column(const CsvTable& table, const WantedColumn& wanted, const std::string& asked,
                    bool is_needed, const std::string& place) {
  const int64_t at = asked == "auto" ? guess_column(table, wanted, place) : table.find(asked);
  if (at != no_column || (asked == "auto" && !is_needed)) return at;
  const auto near = nearest(asked == "auto" ? wanted.key : asked, table.columns);
  fail(Exit::data,
       text(place, " has no column ", asked == "auto" ? text("for ", wanted.meaning) : asked, ", only ",
            table.listed()),
       text("say which it is: data.columns.", wanted.key, "=",
            near.empty() ? "NAME" : text("\"", near, "\"")));
}

bool may_be(const std::string& column, const WantedColumn& wanted, const std::string& asked) {
  if (asked != "auto") return column == asked;
  return std::ranges::any_of(wanted.names, [&](std::string_view name) { return is_called(column, name); });
}

}  // namespace larmor

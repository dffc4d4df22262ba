#include "larmor/judge/fact_table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"

namespace larmor {

namespace {

FactTable table_of_csv(const std::filesystem::path& path) {
  CsvTable source = parse_csv(read_text(path), path.filename().string());
  FactTable table{.columns = std::move(source.columns), .rows = {}};
  for (CsvTable::Row& row : source.rows)
    table.rows.push_back({.place = text("line ", row.line), .cells = std::move(row.cells)});
  return table;
}

std::string cell_of(const Json& value) {
  if (value.is_array()) return !value.empty() && value.front().is_string() ? cell_of(value.front()) : "";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() || value.is_boolean() ? value.dump() : "";
}

void add_rows(FactTable& table, const Json& items, const std::string& section) {
  for (std::size_t number = 0; number < items.size(); ++number) {
    const Json item = items[number].is_string() ? Json{{"image", items[number]}} : items[number];
    if (!item.is_object()) continue;
    FactTable::Row row{.place = text(section, '[', number, ']'), .cells = {}};
    for (const auto& [key, value] : item.items()) {
      const auto known = std::ranges::find(table.columns, key);
      const auto column = static_cast<std::size_t>(known - table.columns.begin());
      if (known == table.columns.end()) table.columns.push_back(key);
      row.cells.resize(table.columns.size());
      row.cells[column] = cell_of(value);
    }
    table.rows.push_back(std::move(row));
  }
}

FactTable table_of_json(const std::filesystem::path& path) {
  const Json source = read_json(path);
  FactTable table;
  if (source.is_array()) add_rows(table, source, "");
  for (const auto& [section, items] : source.items()) {
    if (source.is_object() && items.is_array()) add_rows(table, items, section);
  }
  if (table.rows.empty())
    fail(Exit::data, text(path.filename().string(), " holds no list of objects"),
         R"(a row is an object: [{"image": "a.nii.gz", "sex": "f"}], or such lists by sections)");
  for (FactTable::Row& row : table.rows) row.cells.resize(table.columns.size());
  return table;
}

}  // namespace

FactTable read_fact_table(const std::filesystem::path& path) {
  return lower(path.extension().string()) == ".json" ? table_of_json(path) : table_of_csv(path);
}

}  // namespace larmor

#include "larmor/data/table/table_format.h"

#include <iterator>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor::table_format {
namespace {

constexpr const char* type_names[] = {"int8", "int16", "int32", "int64", "float32", "text"};
constexpr std::size_t most_columns = 1000;

ColumnType type_called(const std::string& name) {
  for (std::size_t i = 0; i < std::size(type_names); ++i) {
    if (name == type_names[i]) return static_cast<ColumnType>(i);
  }
  fail(Exit::data, text("the table is damaged: it has a column of type ", name),
       "run `larmor prepare` again");
}

}  // namespace

uint64_t Footer::hash() const {
  Footer footer = *this;
  footer.hash_of_footer = 0;
  return fast_hash({reinterpret_cast<const char*>(&footer), sizeof(footer)});
}

std::string to_text(const std::vector<TableColumn>& columns) {
  Json json = Json::array();
  for (const TableColumn& column : columns)
    json.push_back({column.name, type_names[static_cast<std::size_t>(column.type)]});
  return json.dump();
}

std::vector<TableColumn> columns_from(std::string_view source) {
  std::vector<TableColumn> columns;
  try {
    const Json json = parse_json(source, "the table's columns");
    if (!json.is_array() || json.empty() || json.size() > most_columns)
      fail(Exit::data, "the table is damaged: it has no columns", "run `larmor prepare` again");
    for (const Json& column : json)
      columns.push_back({column.at(0).get<std::string>(), type_called(column.at(1).get<std::string>())});
  } catch (const Json::exception& error) {
    fail(Exit::data, text("the table is damaged: ", error.what()), "run `larmor prepare` again");
  }
  return columns;
}

}  // namespace larmor::table_format

// libFuzzer target: any bytes are refused with an Error or opened as a table whose rows can all be looked at
// (tests/fuzz/oracles.h).
#include <algorithm>

#include "larmor/data/table/row_table.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  const larmor::RowTable table(larmor::fuzz::file_of(bytes, "input.table"));
  larmor::fuzz::Product product;
  constexpr int64_t most_rows = 1000;
  for (int64_t row = 0; row < std::min(table.rows(), most_rows); ++row) {
    for (std::size_t column = 0; column < table.columns().size(); ++column) {
      const larmor::TableRow found = table.row(row);
      switch (table.columns()[column].type) {
        case larmor::ColumnType::text:
          product.add(found.text(column));
          break;
        case larmor::ColumnType::float32:
          found.number(column);
          break;
        default:
          found.integer(column);
      }
    }
  }
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}

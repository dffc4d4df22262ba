// Tables as text: comma-separated values.
// Source: RFC 4180; also accepts a byte order mark, `;` or tabs between columns, and blank lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

struct CsvTable {
  struct Row {
    int64_t line = 0;                // where it starts in the file, from 1
    std::vector<std::string> cells;  // as many as there are columns, without blanks around them
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;

  /// The column's place, or -1.
  int64_t find(std::string_view column) const;
  /// The columns for a message: the first twenty, of long names the beginning, and how many more there are.
  std::string listed() const;
};

/// Throws Error (data) naming `place` and the line: no columns, a column twice, a row of another
/// length, a quote that is not closed.
CsvTable parse_csv(std::string_view source, std::string_view place);

/// A cell as it is written: in quotes where a comma, a quote or a line's end would part it.
std::string csv_cell(const std::string& word);
/// Foreign words as a cell that no spreadsheet computes: an apostrophe stands before what would begin a
/// formula (= + - @, a tab, a return). Where they are a number they stay as they are.
std::string csv_words(const std::string& words);

}  // namespace larmor

// Columns of text that line up in a terminal.
#pragma once

#include <string>
#include <vector>

namespace larmor {

class Table {
 public:
  /// Cells are shown printable(): none breaks its row.
  void add(std::vector<std::string> cells);
  /// Each row on a line of its own after `indent` blanks, columns two blanks apart.
  std::string to_text(int indent) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace larmor

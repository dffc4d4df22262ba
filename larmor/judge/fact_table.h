// A table of people or of scans as its file has it: CSV, or JSON as MONAI's data lists are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace larmor {

struct FactTable {
  struct Row {
    std::string place;               // for messages: "line 7", "training[3]"
    std::vector<std::string> cells;  // as many as there are columns; empty where nothing is said
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

/// CSV (CsvTable) unless the name ends in .json. JSON: a list of objects, or sections that are such lists; a
/// column for each key, in the order in which they come up. A path in place of an object is its image, a list
/// of paths counts by its first; what is neither words, a number nor true or false is left out. Throws Error
/// (data).
FactTable read_fact_table(const std::filesystem::path& path);

}  // namespace larmor

// A table of millions of rows that nobody loads: columns of fixed width and one run of bytes for texts,
// mapped into memory. Ranks of a host share its pages; opening it takes the time of opening its files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

enum class ColumnType : uint8_t { int8, int16, int32, int64, float32, text };

struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::int64;
  bool operator==(const TableColumn&) const = default;
};

/// What an index says of a table that its examples are rows of. Part of the index's hash by `sha256` alone.
struct IndexedTable {
  std::string name;
  std::filesystem::path file;  // that RowTable opens
  int64_t rows = 0;
  std::string sha256;
  bool operator==(const IndexedTable&) const = default;
};

struct TablePart;

/// One row of a table; borrows it. Requires for all: a column of such a type.
class TableRow {
 public:
  int64_t integer(std::size_t column) const;
  float number(std::size_t column) const;
  /// Lives as long as the table. Throws Error (data) where the file was spoilt.
  std::string_view text(std::size_t column) const;

 private:
  friend class RowTable;
  struct Field {
    std::size_t offset = 0;
    ColumnType type = ColumnType::int64;
  };
  const char* bytes_ = nullptr;
  const TablePart* part_ = nullptr;
  const Field* fields_ = nullptr;
};

/// Thread-safe; a value that shares its mappings. A file must not be shortened while it is open: who writes
/// tables (table_writer.h) puts new files in the place of old ones.
class RowTable {
 public:
  /// A part that TableWriter wrote, or the list of parts that TableBuild::finish() wrote, which lie beside
  /// it. Looks at sizes; contents are held against their hashes, a block at a time, when they are first read.
  /// Throws Error (data): no table, cut short, parts of another shape, a list that does not fit.
  explicit RowTable(const std::filesystem::path& file);

  int64_t rows() const;
  const std::vector<TableColumn>& columns() const;
  /// The place of a column. Throws Error (data) naming those there are.
  std::size_t column(std::string_view name) const;

  /// Requires: 0 <= row < rows(). Throws Error (data) where the file was spoilt.
  TableRow row(int64_t row) const;

  /// Over the contents, as its writer has computed it.
  const std::string& sha256() const;
  /// Reads every byte. Throws Error (data) where one is not as it was written.
  void verify() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace larmor

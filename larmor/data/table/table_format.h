// How a part of a table lies on disk: texts, rows, the columns' names as JSON, a hash of each block of all
// that, and a footer of fixed size, so that a file that was cut has none. Little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "larmor/data/table/row_table.h"

namespace larmor::table_format {

inline constexpr std::array<char, 8> magic = {'L', 'A', 'R', 'M', 'O', 'R', 'T', '2'};
inline constexpr const char* list_kind = "larmor table 2";

struct Footer {
  uint64_t text_bytes = 0;  // from 0 on
  uint64_t rows_begin = 0, row_bytes = 0, rows = 0;
  uint64_t columns_begin = 0, columns_bytes = 0;
  std::array<char, 64> sha256{};  // of all bytes before the hashes of the blocks
  uint64_t hash_of_hashes = 0;    // of the blocks
  uint64_t hash_of_footer = 0;    // with 0 in its place
  std::array<char, 8> magic{};

  uint64_t hash() const;
};
static_assert(sizeof(Footer) == 136);

/// So many bytes are held against their hash when one of them is first read.
inline constexpr uint64_t block_bytes = uint64_t{1} << 16;
inline uint64_t blocks_of(uint64_t bytes) { return (bytes + block_bytes - 1) / block_bytes; }

/// Where a text lies: its first byte, and how long it is.
inline constexpr int length_bits = 24;
inline constexpr uint64_t longest_text = (uint64_t{1} << length_bits) - 1;
inline constexpr uint64_t most_text_bytes = uint64_t{1} << (64 - length_bits);

inline std::size_t width_of(ColumnType type) {
  switch (type) {
    case ColumnType::int8:
      return 1;
    case ColumnType::int16:
      return 2;
    case ColumnType::int32:
    case ColumnType::float32:
      return 4;
    case ColumnType::int64:
    case ColumnType::text:
      return 8;
  }
  return 0;
}

/// Where each column begins in a row, and behind the last one the row's length.
inline std::vector<std::size_t> offsets_of(const std::vector<TableColumn>& columns) {
  std::vector<std::size_t> offsets = {0};
  for (const TableColumn& column : columns) offsets.push_back(offsets.back() + width_of(column.type));
  return offsets;
}

std::string to_text(const std::vector<TableColumn>& columns);
/// Throws Error (data).
std::vector<TableColumn> columns_from(std::string_view text);

}  // namespace larmor::table_format

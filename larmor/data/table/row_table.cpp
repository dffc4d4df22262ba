#include "larmor/data/table/row_table.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <deque>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/mapped_file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/data/table/table_format.h"

namespace larmor {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr uint64_t largest_list = uint64_t{64} << 20;
const char* const rebuild = "run `larmor prepare` again";

[[noreturn]] void spoilt(std::string_view what) {
  fail(Exit::data, text("the table is damaged: ", what), rebuild);
}

template <class Number>
Number load(const char* from) {
  Number value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// A part lies beside the list that names it.
std::string plain_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    spoilt(text("its list names a part that does not lie beside it: ", printable(name)));
  return name;
}

}  // namespace

struct TablePart {
  explicit TablePart(const std::filesystem::path& path);
  /// Bytes that are as they were written. Throws Error (data) where they are not.
  std::string_view read(uint64_t begin, uint64_t count) const;
  void check_block(uint64_t block) const;
  std::string sha256() const { return {footer.sha256.data(), footer.sha256.size()}; }
  uint64_t body() const { return footer.columns_begin + footer.columns_bytes; }

  std::filesystem::path file;
  MappedFile mapping;
  table_format::Footer footer;
  std::vector<TableColumn> columns;
  mutable std::vector<std::atomic<bool>> sound;  // by block: has been held against its hash
};

struct RowTable::State {
  std::deque<TablePart> parts;
  std::vector<TableColumn> columns;
  std::vector<TableRow::Field> fields;
  std::vector<int64_t> first_rows;  // of parts
  int64_t rows = 0;
  std::string sha256;
};

TablePart::TablePart(const std::filesystem::path& path)
    : file(path), mapping(path, MappedFile::Use::anywhere) {
  const std::string_view bytes = mapping.bytes();
  if (bytes.size() < sizeof(footer)) spoilt("it is cut short");
  std::memcpy(&footer, bytes.data() + bytes.size() - sizeof(footer), sizeof(footer));
  if (footer.magic != table_format::magic) spoilt("it is cut short, or no table");
  if (footer.hash_of_footer != footer.hash()) spoilt("its footer is not as it was written");
  const uint64_t behind = bytes.size() - sizeof(footer);
  const bool rows_fit = footer.rows_begin <= footer.columns_begin && footer.row_bytes > 0 &&
                        footer.rows <= (footer.columns_begin - footer.rows_begin) / footer.row_bytes;
  if (footer.text_bytes > footer.rows_begin || !rows_fit || footer.columns_begin > behind ||
      footer.columns_bytes > behind - footer.columns_begin) {
    spoilt("its footer does not fit it");
  }
  const uint64_t blocks = table_format::blocks_of(body());
  if (behind - body() != blocks * sizeof(uint64_t)) spoilt("its footer does not fit it");
  if (fast_hash(bytes.substr(body(), behind - body())) != footer.hash_of_hashes)
    spoilt("the hashes of its blocks are not as they were written");
  sound = std::vector<std::atomic<bool>>(blocks);
  columns = table_format::columns_from(read(footer.columns_begin, footer.columns_bytes));
  if (table_format::offsets_of(columns).back() != footer.row_bytes) spoilt("its columns do not fit its rows");
}

void TablePart::check_block(uint64_t block) const {
  if (sound[block].load(std::memory_order_relaxed)) return;
  const uint64_t begin = block * table_format::block_bytes;
  const std::string_view bytes =
      mapping.bytes().substr(begin, std::min(table_format::block_bytes, body() - begin));
  if (load<uint64_t>(mapping.bytes().data() + body() + block * sizeof(uint64_t)) != fast_hash(bytes))
    spoilt(text(file.string(), ": the bytes from ", begin, " on are not those that were written"));
  sound[block].store(true, std::memory_order_relaxed);
}

std::string_view TablePart::read(uint64_t begin, uint64_t count) const {
  if (count == 0) return {};
  for (uint64_t block = begin / table_format::block_bytes;
       block <= (begin + count - 1) / table_format::block_bytes; ++block)
    check_block(block);
  return mapping.bytes().substr(begin, count);
}

RowTable::RowTable(const std::filesystem::path& file) {
  const auto state = std::make_shared<State>();
  naming(file, [&] {
    if (file.extension() != ".json") {
      state->parts.emplace_back(file);
      state->sha256 = state->parts.front().sha256();
      return;
    }
    const Json list = parse_json(read_text(file, largest_list), file.filename().string());
    try {
      if (list.at("kind") != table_format::list_kind) spoilt("its list is of another kind");
      state->columns = table_format::columns_from(list.at("columns").dump());
      state->sha256 = list.at("sha256").get<std::string>();
      for (const Json& part : list.at("parts")) {
        state->parts.emplace_back(file.parent_path() / plain_name(part.at("file").get<std::string>()));
        if (state->parts.back().sha256() != part.at("sha256").get<std::string>())
          spoilt(larmor::text(state->parts.back().file.string(), " is not the part that the list names"));
      }
    } catch (const Json::exception& error) {
      spoilt(error.what());
    }
  });
  for (const TablePart& part : state->parts) {
    if (state->columns.empty()) state->columns = part.columns;
    if (part.columns != state->columns)
      fail(Exit::data, larmor::text(part.file.string(), ": the columns of the table's parts differ"),
           rebuild);
    state->first_rows.push_back(state->rows);
    state->rows += static_cast<int64_t>(part.footer.rows);
  }
  const auto offsets = table_format::offsets_of(state->columns);
  for (std::size_t i = 0; i < state->columns.size(); ++i)
    state->fields.push_back({offsets[i], state->columns[i].type});
  state_ = state;
}

int64_t RowTable::rows() const { return state_->rows; }
const std::vector<TableColumn>& RowTable::columns() const { return state_->columns; }
const std::string& RowTable::sha256() const { return state_->sha256; }

std::size_t RowTable::column(std::string_view name) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state_->columns.size(); ++i) {
    if (state_->columns[i].name == name) return i;
    names.push_back(state_->columns[i].name);
  }
  fail(Exit::data, larmor::text("the table has no column ", name, ", but ", join(names, ", ")), rebuild);
}

TableRow RowTable::row(int64_t row) const {
  ensure(row >= 0 && row < state_->rows);
  const auto& first_rows = state_->first_rows;
  const auto next = std::upper_bound(first_rows.begin(), first_rows.end(), row);
  const auto place = static_cast<std::size_t>(next - first_rows.begin()) - 1;
  const TablePart& part = state_->parts[place];
  TableRow found;
  const auto inside = static_cast<uint64_t>(row - first_rows[place]);
  found.bytes_ =
      part.read(part.footer.rows_begin + inside * part.footer.row_bytes, part.footer.row_bytes).data();
  found.part_ = &part;
  found.fields_ = state_->fields.data();
  return found;
}

int64_t TableRow::integer(std::size_t column) const {
  const char* const at = bytes_ + fields_[column].offset;
  switch (fields_[column].type) {
    case ColumnType::int8:
      return load<int8_t>(at);
    case ColumnType::int16:
      return load<int16_t>(at);
    case ColumnType::int32:
      return load<int32_t>(at);
    case ColumnType::int64:
      return load<int64_t>(at);
    case ColumnType::float32:
    case ColumnType::text:
      break;
  }
  ensure(false);
  return 0;
}

float TableRow::number(std::size_t column) const {
  ensure(fields_[column].type == ColumnType::float32);
  return load<float>(bytes_ + fields_[column].offset);
}

std::string_view TableRow::text(std::size_t column) const {
  ensure(fields_[column].type == ColumnType::text);
  const auto place = load<uint64_t>(bytes_ + fields_[column].offset);
  const uint64_t begin = place >> table_format::length_bits, length = place & table_format::longest_text;
  const uint64_t texts = part_->footer.text_bytes;
  if (begin > texts || length > texts - begin) spoilt("a text lies outside of it");
  return part_->read(begin, length);
}

void RowTable::verify() const {
  for (const TablePart& part : state_->parts) {
    for (uint64_t block = 0; block < part.sound.size(); ++block) {
      part.sound[block].store(false, std::memory_order_relaxed);
      part.check_block(block);
    }
  }
}

}  // namespace larmor

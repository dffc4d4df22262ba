#include "larmor/data/table/table_writer.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include <unistd.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/data/table/table_format.h"

namespace larmor {
namespace {

constexpr std::size_t buffered = std::size_t{1} << 20;
// Texts that are looked for again: short ones, which questions are, and not too many of them.
constexpr std::size_t longest_known = 200, most_known = 100'000;

template <class Number>
void store(char* to, Number value) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace

TableWriter::TableWriter(Storage& storage, std::filesystem::path file, std::vector<TableColumn> columns)
    : storage_(storage),
      file_(std::move(file)),
      columns_(std::move(columns)),
      offsets_(table_format::offsets_of(columns_)),
      row_path_(temporary_beside(file_)),
      joined_(create_whole(storage_, file_)),
      row_file_(storage_.create(row_path_)),
      row_(offsets_.back(), '\0') {}

TableWriter::~TableWriter() {
  if (row_file_) ::unlink(row_path_.c_str());
}

void TableWriter::set(std::size_t column, int64_t value) {
  char* const to = row_.data() + offsets_[column];
  const auto store_as = [&](auto narrow) {
    ensure(narrow == value);
    store(to, narrow);
  };
  switch (columns_[column].type) {
    case ColumnType::int8:
      return store_as(static_cast<int8_t>(value));
    case ColumnType::int16:
      return store_as(static_cast<int16_t>(value));
    case ColumnType::int32:
      return store_as(static_cast<int32_t>(value));
    case ColumnType::int64:
      return store_as(value);
    case ColumnType::float32:
    case ColumnType::text:
      break;
  }
  ensure(false);
}

void TableWriter::set(std::size_t column, float value) {
  ensure(columns_[column].type == ColumnType::float32);
  store(row_.data() + offsets_[column], value);
}

void TableWriter::set(std::size_t column, std::string_view value) {
  ensure(columns_[column].type == ColumnType::text);
  store(row_.data() + offsets_[column], place_of(value));
}

uint64_t TableWriter::place_of(std::string_view value) {
  if (value.size() > table_format::longest_text)
    fail(Exit::data, text("a text of ", human_bytes(value.size()), " is too long for a table"),
         "leave it out");
  if (value.empty()) return 0;
  const bool is_looked_for = value.size() <= longest_known;
  if (is_looked_for) {
    const auto known = known_texts_.find(value);
    if (known != known_texts_.end()) return known->second;
  }
  if (text_bytes_ + value.size() >= table_format::most_text_bytes)
    fail(Exit::data, "the texts of a table's part are larger than 1 TiB", "write it in more parts");
  const uint64_t place = text_bytes_ << table_format::length_bits | value.size();
  texts_ += value;
  text_bytes_ += value.size();
  if (texts_.size() >= buffered) flush_texts();
  if (is_looked_for) {
    if (known_texts_.size() >= most_known) known_texts_.clear();
    known_texts_.emplace(value, place);
  }
  return place;
}

void TableWriter::end_row() {
  row_bytes_ += row_;
  std::fill(row_.begin(), row_.end(), '\0');
  ++rows_;
  if (row_bytes_.size() >= buffered) flush_rows();
}

void TableWriter::write(std::string_view bytes) {
  joined_->write(bytes);
  hash_.update(bytes);
  written_ += bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min<std::size_t>(table_format::block_bytes - block_.size(), bytes.size());
    block_ += bytes.substr(0, count);
    bytes.remove_prefix(count);
    if (block_.size() == table_format::block_bytes) hash_block();
  }
}

void TableWriter::hash_block() {
  block_hashes_.push_back(fast_hash(block_));
  block_.clear();
}

void TableWriter::flush_texts() {
  write(texts_);
  texts_.clear();
}

void TableWriter::flush_rows() {
  row_file_->write(std::string_view(row_bytes_));
  row_bytes_.clear();
}

void TableWriter::copy_rows() {
  flush_rows();
  row_file_->close();
  const RegularFile rows = open_regular(row_path_, Exit::environment);
  std::string chunk(buffered, '\0');
  for (uint64_t place = 0; place < rows.size();) {
    const std::size_t count = rows.read_at(place, std::as_writable_bytes(std::span(chunk)));
    if (count == 0) fail(Exit::environment, text(file_.string(), ": its rows were cut"), "write it again");
    write(std::string_view(chunk).substr(0, count));
    place += count;
  }
}

std::string TableWriter::finish() {
  flush_texts();
  table_format::Footer footer{.text_bytes = text_bytes_,
                              .rows_begin = written_,
                              .row_bytes = offsets_.back(),
                              .rows = static_cast<uint64_t>(rows_),
                              .sha256 = {},
                              .hash_of_hashes = 0,
                              .hash_of_footer = 0,
                              .magic = table_format::magic};
  copy_rows();
  const std::string names = table_format::to_text(columns_);
  footer.columns_begin = written_;
  footer.columns_bytes = names.size();
  write(names);
  const std::string sha256 = hash_.hex();
  std::copy(sha256.begin(), sha256.end(), footer.sha256.begin());
  if (!block_.empty()) hash_block();
  const auto hashes = std::as_bytes(std::span(block_hashes_));
  footer.hash_of_hashes = fast_hash({reinterpret_cast<const char*>(hashes.data()), hashes.size()});
  footer.hash_of_footer = footer.hash();
  joined_->write(hashes);
  joined_->write(std::as_bytes(std::span(&footer, 1)));
  joined_->sync();
  storage_.point("table.written");
  joined_->close();
  return sha256;
}

namespace {

bool is_table(const std::filesystem::path& file) {
  try {
    return RowTable(file).rows() >= 0;
  } catch (const Error&) {
    return false;
  }
}

bool is_note(const std::filesystem::path& file) {
  try {
    const Json note = read_json(file);
    return note.is_object() && note.contains("stamp") && note.contains("sha256") && note.contains("notes");
  } catch (const Error&) {
    return false;
  }
}

// Whether a build has written it: a part, its note, or what a build that was killed has left of one.
bool is_of_a_build(const std::filesystem::directory_entry& item) {
  const std::string name = item.path().filename().string();
  if (item.is_symlink() || !item.is_regular_file()) return false;
  if (name.ends_with(".table")) return is_table(item.path());
  if (name.ends_with(".note")) return is_note(item.path());
  return is_temporary_name(name);
}

}  // namespace

TableBuild::TableBuild(Storage& storage, std::filesystem::path folder, std::string name,
                       std::vector<TableColumn> columns)
    : storage_(storage), folder_(std::move(folder)), name_(std::move(name)), columns_(std::move(columns)) {
  storage_.create_folders(folder_);
}

std::filesystem::path TableBuild::file_of(const std::string& part) const {
  return folder_ / (part + ".table");
}
std::filesystem::path TableBuild::note_of(const std::string& part) const {
  return folder_ / (part + ".note");
}

Json TableBuild::noted(const std::string& part, const std::string& stamp) const {
  try {
    const Json note = read_json(note_of(part));
    const RowTable table(file_of(part));
    const bool is_done =
        note.at("stamp") == stamp && note.at("sha256") == table.sha256() && table.columns() == columns_;
    if (!is_done) return {};
    table.verify();
    return note.at("notes");
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  return {};
}

TableWriter TableBuild::begin(const std::string& part) {
  remove_file(storage_, note_of(part));
  return TableWriter(storage_, file_of(part), columns_);
}

void TableBuild::finish(const std::string& part, const std::string& stamp, TableWriter& writer,
                        const Json& notes) {
  const std::string sha256 = writer.finish();
  const Json note = {{"stamp", stamp}, {"sha256", sha256}, {"rows", writer.rows()}, {"notes", notes}};
  write_text(storage_, note_of(part), to_text(note));
}

IndexedTable TableBuild::finish(const std::vector<std::string>& parts) {
  Json list = {{"kind", table_format::list_kind},
               {"columns", parse_json(table_format::to_text(columns_), "columns")},
               {"sha256", ""},
               {"parts", Json::array()}};
  const auto file = folder_ / (name_ + ".json");
  std::set<std::filesystem::path> kept = {file};
  Sha256 hash;
  int64_t rows = 0;
  for (const std::string& part : parts) {
    const RowTable table(file_of(part));
    hash.update(table.sha256());
    rows += table.rows();
    list["parts"].push_back({{"file", file_of(part).filename().string()}, {"sha256", table.sha256()}});
    kept.insert({file_of(part), note_of(part)});
  }
  const std::string sha256 = hash.hex();
  list["sha256"] = sha256;
  // Others may be reading it: a list that says the same stays.
  std::error_code none;
  const std::string words = to_text(list);
  if (!std::filesystem::is_regular_file(file, none) || read_text(file) != words)
    write_text(storage_, file, words);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!kept.contains(entry.path()) && is_of_a_build(entry)) remove_file(storage_, entry.path());
  }
  return {.name = name_, .file = file, .rows = rows, .sha256 = sha256};
}

}  // namespace larmor

// Tables written in parts: what is done stays when the work is interrupted, and is not done again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/data/table/row_table.h"

namespace larmor {

/// Writes one part. Holds some megabytes, however many rows there are: texts and rows go to two temporary
/// files beside `file`, which finish() joins; without it nothing is left. One thread. Borrows the storage.
class TableWriter {
 public:
  TableWriter(Storage& storage, std::filesystem::path file, std::vector<TableColumn> columns);
  ~TableWriter();

  /// The next row's values, each by its column; those that are not set are 0 or empty. A text that stood in
  /// an earlier row is mostly not written again. Requires: a column of such a type, a value that it holds.
  /// Throws Error: a text of 16 MiB (data), no room on the disk (environment).
  void set(std::size_t column, int64_t value);
  void set(std::size_t column, float value);
  void set(std::size_t column, std::string_view value);
  void end_row();

  int64_t rows() const { return rows_; }
  /// The part is there, whole, when this returns. Gives its sha256.
  std::string finish();

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  uint64_t place_of(std::string_view value);
  void flush_texts();
  void flush_rows();
  void copy_rows();
  void write(std::string_view bytes);
  void hash_block();

  Storage& storage_;
  const std::filesystem::path file_;
  const std::vector<TableColumn> columns_;
  const std::vector<std::size_t> offsets_;
  const std::filesystem::path row_path_;
  std::unique_ptr<StorageFile> joined_, row_file_;
  Sha256 hash_;
  std::string texts_, row_bytes_;  // not yet written
  std::string block_;              // written, not yet hashed
  std::vector<uint64_t> block_hashes_;
  std::string row_;
  uint64_t text_bytes_ = 0, written_ = 0;
  int64_t rows_ = 0;
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> known_texts_;
};

/// A table of parts in a folder of its own: parts that an earlier build has finished for the same source
/// stay. Borrows the storage. One thread.
class TableBuild {
 public:
  /// `name`: of the list of parts, NAME.json.
  TableBuild(Storage& storage, std::filesystem::path folder, std::string name,
             std::vector<TableColumn> columns);

  /// What is known of a part that is done: what its writer noted. Null where it is to be written: it is not
  /// there, not whole, or `stamp`, which says what it is made of, is another.
  Json noted(const std::string& part, const std::string& stamp) const;
  TableWriter begin(const std::string& part);
  void finish(const std::string& part, const std::string& stamp, TableWriter& writer, const Json& notes);

  /// The table of these parts, in this order. Parts of earlier builds are taken away from the folder.
  IndexedTable finish(const std::vector<std::string>& parts);

 private:
  std::filesystem::path file_of(const std::string& part) const;
  std::filesystem::path note_of(const std::string& part) const;

  Storage& storage_;
  const std::filesystem::path folder_;
  const std::string name_;
  const std::vector<TableColumn> columns_;
};

}  // namespace larmor

// Which cases there are and which split each belongs to: frozen at the start of a run, hashed, and
// compared when it is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/index/case_list.h"
#include "larmor/data/index/file_account.h"
#include "larmor/data/index/split.h"
#include "larmor/data/table/row_table.h"

namespace larmor {

/// Whether one of a case's files is (a channel of) its image.
bool is_image(std::string_view name);
/// "t1" of image_t1; "image" of image.
std::string_view modality_of(std::string_view name);
/// The name of a modality's file in a case: image_t1 of "t1"; image, label and masks are called as they are.
std::string name_of_modality(std::string_view modality);

struct Case {
  /// "image" or "image_<modality>", "label" when it is a file, "mask" or "mask_<name>" -> path relative to
  /// the data folder. A phantom's is no path but its number, size and seed.
  std::map<std::string, std::string> files;
  std::string patient;
  Split split = Split::train;
  uint64_t bytes = 0;  // of its files
  std::string label;   // a value from a list
  /// What a list says of the case in numbers, by the names that samples have them under ("time", "event").
  std::map<std::string, double> values = {};
  bool operator==(const Case&) const = default;

  /// Its first file.
  const std::string& name() const { return files.begin()->second; }
  /// What it is called beside its images: its file, or of several (modalities, radiographs and their CT; not
  /// counted are labels and masks) the beginning that their paths share, up to the end of a word: "sub-01" of
  /// sub-01/sub-01_t1.nii.gz and its like. The patient, where they share none.
  std::string title() const;
};

/// What the files of a volume looked like: enough to notice that they were edited, without reading all of
/// them.
struct FileState {
  uint64_t bytes = 0;
  int64_t modified_ns = 0;  // since the epoch
  uint64_t sample = 0;      // XXH3 of blocks spread over them
  bool operator==(const FileState&) const = default;
  /// Whatever the time says: a copy, or one that was only touched.
  bool has_contents_of(const FileState& other) const {
    return bytes == other.bytes && sample == other.sample;
  }
};

struct Index {
  std::string kind;              // data.kind
  std::filesystem::path folder;  // absolute: what relative paths start from; not part of the hash
  std::vector<Case> cases;       // sorted by path
  std::string patients_by;       // the sentence that says how patients were told apart
  /// Modalities of the cases' images, as data.modalities or the list's columns declare their order; empty
  /// where cases have one image file. Part of the hash where the order is not that of the names.
  std::vector<std::string> channels = {};
  /// Whose rows are the examples, where examples are not the cases; part of the hash by their own.
  std::vector<IndexedTable> tables = {};
  // What a run remembers; none of it is part of the hash.
  std::map<std::string, FileState> states = {};  // by path, when the run was started
  std::vector<std::string> touched = {};         // cases whose files were written anew since
  std::vector<Case> left_out = {};  // of val and test, whose patients trained the weights that it builds on
  std::vector<BadFile> bad = {};    // cases that could not be used when ranks were last started
  /// What became of other files below the folder; null in an index that was read. Not kept with a run.
  std::shared_ptr<const FileAccount> account = {};
  int64_t patients() const;
  /// Whether the program makes the volumes, so that there are no files to look at.
  bool is_invented() const { return folder.empty(); }
  std::vector<int64_t> of(Split split) const;
  /// The files of all cases, sorted, each once.
  std::vector<std::string> distinct_files() const;
  /// Throws Error (data) where there is no table of this name.
  const IndexedTable& table(std::string_view name) const;
  /// Over paths, sizes, patients, labels, values, splits and tables: equal for equal data in another folder.
  std::string sha256() const;
};

/// Finds the cases of a config (folder, CSV or JSON list, phantom), splits them by patient. Throws Error
/// (data): missing or empty folder, too many files that do not exist (are_too_many(); those that may be
/// missing stay, for check_files() to name), a patient in two splits, a file of two patients.
/// A split may get nobody when there are too few patients; `patients_by` says so.
Index make_index(const DataConfig& data, uint64_t seed);
/// The same for cases that a workload has found in a list of its own form, with its account of other files,
/// or invented: then their files are names that no file has.
Index make_index(const DataConfig& data, uint64_t seed, const std::vector<ListedCase>& listed,
                 FileAccount account = {});
Index make_invented_index(const DataConfig& data, uint64_t seed, const std::vector<ListedCase>& invented,
                          uint64_t bytes_of_each);
/// For who goes by splits that are made already: such that every case gets a split (train, where a list says
/// no other) and no missing file is one too many.
DataConfig without_splits(DataConfig data);

/// header: the files' beginnings and ends against their sizes, some milliseconds a file; one that looks
/// wrong is read whole before it is called so. full: every byte, as a training run would read it.
enum class Depth { header, full };

/// Checks every file against the bytes that are there; all faults, not the first. Blocks.
std::vector<BadFile> check_files(const Index& index, Depth depth = Depth::header);

/// By path; files that cannot be read are not among them. Blocks.
std::map<std::string, FileState> states_of_files(const Index& index);

Json to_json(const Index& index);
/// Throws Error (data) when it is damaged or its hash does not fit.
Index index_from_json(const Json& json);

}  // namespace larmor

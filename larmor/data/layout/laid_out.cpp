#include "larmor/data/layout/laid_out.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/index/data_folder.h"
#include "larmor/data/layout/folder_splits.h"
#include "larmor/data/layout/layout.h"
#include "larmor/data/layout/split_folder.h"

namespace larmor {
namespace {

PathParts cut(const std::string& path, const NamePatterns& patterns) {
  PathParts parts;
  const std::string_view whole = path;
  std::size_t begin = 0;
  for (std::size_t end = whole.find('/'); end != std::string_view::npos; end = whole.find('/', begin)) {
    parts.folders.push_back(whole.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.stem = whole.substr(begin, without_suffix(path, patterns).size() - begin);
  return parts;
}

const FolderLayout* chosen_layout(const DataConfig& data, const std::vector<PathParts>& files,
                                  const std::filesystem::path& folder) {
  if (data.layout == "none" || data.layout == "folders") return nullptr;
  if (data.layout != "auto") return &layout_called(data.layout);
  for (const FolderLayout& layout : layouts()) {
    if (layout.fits(files, folder)) return &layout;
  }
  return nullptr;
}

/// Places files one after the other.
class Placer {
 public:
  Placer(const DataConfig& data, const std::vector<PathParts>& files, const std::filesystem::path& folder)
      : data_(data), layout_(chosen_layout(data, files, folder)), shared_(shared_folders(files)) {
    if (layout_ != nullptr || data.layout == "none") return;
    try {
      level_ = level_of_splits(files, folder, data.layout == "folders");
    } catch (const Error&) {
      // Who goes by splits that are made already has no use for what folders say of them.
      if (data.bad_files != any_number_of_files) throw;
    }
  }

  LaidOut::Place place(const PathParts& file) const {
    if (layout_ == nullptr) return by_folders(file);
    PlacedFile placed = layout_->place(file);
    // A mask may be asked for as one of a case's files.
    const bool is_wanted = placed.is_label && !data_.modalities.is_null() && !placed.patient.empty();
    if (placed.passed_over != nullptr && !is_wanted)
      return {.patient = "", .passed_over = placed.passed_over};
    if (placed.patient.empty()) return by_folders(file);
    LaidOut::Place found{.patient = std::move(placed.patient), .split = placed.split};
    std::string prefix;
    for (std::size_t i = 0; i < placed.above; ++i) {
      const auto split = split_of_folder(file.folders[i]);
      if (split && !found.split) found.split = split;
      if (!split && i >= shared_) prefix += text(file.folders[i], '/');
    }
    if (!layout_->names_are_unique) found.patient.insert(0, prefix);
    return found;
  }

  /// Whether the layout that a person named does not know whose the file is.
  bool is_strange(const PathParts& file) const {
    if (layout_ == nullptr || data_.layout == "auto") return false;
    const PlacedFile placed = layout_->place(file);
    return placed.patient.empty() && placed.passed_over == nullptr;
  }

  const FolderLayout* layout() const { return layout_; }
  bool has_split_folders() const { return level_.has_value(); }

 private:
  LaidOut::Place by_folders(const PathParts& file) const {
    const std::size_t at = level_ ? *level_ + 1 : 0;
    LaidOut::Place found{.patient = std::string(at < file.folders.size() ? file.folders[at] : file.stem)};
    if (level_) found.split = split_of_folder(file.folders[*level_]);
    return found;
  }

  const DataConfig& data_;
  const FolderLayout* layout_;
  std::size_t shared_;
  std::optional<std::size_t> level_;
};

std::regex pattern_of(const std::string& pattern) {
  try {
    std::regex regex(pattern, std::regex::ECMAScript | std::regex::optimize);
    if (regex.mark_count() > 0) return regex;
  } catch (const std::regex_error& error) {
    fail(Exit::usage, text("data.patient_pattern ", pattern, " is no regular expression: ", error.what()),
         "for instance data.patient_pattern='([^/]+)/[^/]+$'");
  }
  fail(Exit::usage, text("data.patient_pattern ", pattern, " has no group, and its first one is the patient"),
       "put the patient's part into round brackets: 'centre-[0-9]+/(p[0-9]+)'");
}

void name_patients_by_pattern(const DataConfig& data, const std::vector<std::string>& paths,
                              LaidOut& laid_out) {
  const std::regex pattern = pattern_of(data.patient_pattern);
  std::string first_strange;
  int64_t strange = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::smatch match;
    if (laid_out.files[i].passed_over != nullptr) continue;
    const bool is_found = std::regex_search(paths[i], match, pattern) && match[1].length() > 0;
    if (is_found) laid_out.files[i].patient = match[1].str();
    if (!is_found && strange++ == 0) first_strange = paths[i];
  }
  if (strange == 0) return;
  fail(Exit::data,
       text("data.patient_pattern finds no patient in ", strange, " of ", paths.size(),
            " paths (first: ", first_strange, ")"),
       "loosen the pattern, or leave these files out with data.exclude");
}

std::string sentence_on(const Placer& placer, const std::vector<PathParts>& files) {
  const FolderLayout* const layout = placer.layout();
  if (layout != nullptr) return text("layout ", layout->name, ": ", layout->patients_by);
  if (placer.has_split_folders()) return "folders are splits; below them sub-folders, a loose file its own";
  const auto loose =
      std::count_if(files.begin(), files.end(), [](const PathParts& file) { return file.folders.empty(); });
  return loose == static_cast<std::ptrdiff_t>(files.size()) ? "no sub-folders: each file its own"
         : loose > 0                                        ? "first sub-folder, a loose file its own"
                                                            : "first sub-folder";
}

/// How many cases each split has, and those that no folder gives to one.
struct SplitCounts {
  std::array<int64_t, 3> given{};
  int64_t open = 0;
  int64_t of(Split split) const { return given[static_cast<std::size_t>(split)]; }
};

SplitCounts count_splits(const LaidOut& laid_out) {
  SplitCounts counts;
  for (const auto& file : laid_out.files) {
    if (file.passed_over != nullptr) continue;
    ++(file.split ? counts.given[static_cast<std::size_t>(*file.split)] : counts.open);
  }
  return counts;
}

// Where a person asks for no validation, or names whom to validate on, nothing is missing here.
void refuse_empty_split(const DataConfig& data, const SplitCounts& counts) {
  const Json& val = data.split.val;
  const bool is_wanted = val.is_number() && val.get<double>() > 0;
  if (counts.open > 0 || !is_wanted) return;
  for (const Split split : {Split::train, Split::val}) {
    if (counts.of(split) > 0) continue;
    std::vector<std::string> there;
    for (const Split other : {Split::train, Split::val, Split::test})
      if (counts.of(other) > 0) there.push_back(text(to_text(other), " (", counts.of(other), " files)"));
    fail(Exit::data,
         text("folders of ", data.folder, " are the split", there.size() == 1 ? " " : "s ",
              join(there, " and "), ", so ", to_text(split), " would be empty"),
         "say data.folder=… of the folder that is to be dealt out by data.split; or name patients in "
         "data.split.val=[…]; or, to train without validation, data.split.val=0 train.validate_every=0");
  }
}

// What a challenge releases for training is dealt out like any other data where its validation data are not
// there: they come without labels, and few have them.
void deal_out_training_alone(LaidOut& laid_out, SplitCounts& counts) {
  if (counts.open > 0 || counts.of(Split::val) > 0 || counts.of(Split::test) > 0) return;
  for (auto& file : laid_out.files) file.split.reset();
  counts = {.given = {}, .open = counts.of(Split::train)};
}

void refuse_strange(const DataConfig& data, const std::vector<std::string>& paths, const Placer& placer,
                    const std::vector<PathParts>& files) {
  const auto strange = std::find_if(files.begin(), files.end(),
                                    [&](const PathParts& file) { return placer.is_strange(file); });
  if (strange == files.end()) return;
  fail(
      Exit::data,
      text("data.layout is ", data.layout, ", and ", paths[static_cast<std::size_t>(strange - files.begin())],
           " is not called so: patients are told by ", placer.layout()->patients_by),
      "leave such files out with data.exclude, or say data.layout=auto, none or another one");
}

}  // namespace

LaidOut lay_out(const DataConfig& data, const std::vector<std::string>& paths, const NamePatterns& patterns,
                const std::filesystem::path& folder) {
  LaidOut laid_out;
  if (paths.empty()) return laid_out;
  std::vector<PathParts> files;
  files.reserve(paths.size());
  for (const std::string& path : paths) files.push_back(cut(path, patterns));
  const Placer placer(data, files, folder);
  refuse_strange(data, paths, placer, files);
  for (const PathParts& file : files) laid_out.files.push_back(placer.place(file));
  laid_out.patients_by = sentence_on(placer, files);
  if (!data.patient_pattern.empty()) {
    name_patients_by_pattern(data, paths, laid_out);
    laid_out.patients_by = text("data.patient_pattern; ", laid_out.patients_by);
  }
  SplitCounts counts = count_splits(laid_out);
  if (placer.layout() != nullptr) deal_out_training_alone(laid_out, counts);
  refuse_empty_split(data, counts);
  const std::size_t shared = shared_folders(files);
  if (placer.layout() == nullptr && data.patient_pattern.empty() && !placer.has_split_folders() &&
      shared > 0 && std::any_of(files.begin(), files.end(), [&](const auto& file) {
        return file.folders.size() > shared;
      })) {
    laid_out.warnings.push_back(text("all files lie below ", files.front().folders.front(),
                                     "/, which is one patient: if its folders are patients, say data.folder=",
                                     (folder / files.front().folders.front()).string()));
  }
  return laid_out;
}

}  // namespace larmor

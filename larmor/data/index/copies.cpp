#include "larmor/data/index/copies.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/source_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

using Images = std::vector<CopiedImage>;

/// Whether they are of one case's patient and split, however often the patient has them.
bool are_of_one(const Index& index, const Images& images) {
  const Case& first = index.cases[images.front().of_case];
  return std::all_of(images.begin(), images.end(), [&](const CopiedImage& image) {
    const Case& other = index.cases[image.of_case];
    return other.patient == first.patient && other.split == first.split;
  });
}

/// The groups of `images` that have the same key and are not of one patient and split; those without a key
/// are in none. Keys are computed from a few threads.
template <class KeyOf>
std::vector<Images> groups_by(const Index& index, const Images& images, const KeyOf& key_of) {
  using Key = decltype(key_of(std::string()));
  std::vector<Key> keys(images.size());
  over_threads(images.size(), [&](std::size_t i) { keys[i] = key_of(images[i].file); });
  std::map<typename Key::value_type, Images> by_key;
  for (std::size_t i = 0; i < images.size(); ++i)
    if (keys[i]) by_key[*keys[i]].push_back(images[i]);
  std::vector<Images> groups;
  for (auto& [key, group] : by_key)
    if (!are_of_one(index, group)) groups.push_back(std::move(group));
  return groups;
}

std::optional<std::pair<uint64_t, uint64_t>> look_of(const FileState& state) {
  if (state.bytes == 0) return std::nullopt;
  return std::pair(state.bytes, state.sample);
}

/// The files of a series that shares its folder with others, which the account has as the parts of its case.
std::map<std::string, std::vector<std::string>> files_of_series(const Index& index) {
  std::map<std::string, std::vector<std::string>> files;
  if (index.account == nullptr) return files;
  for (const auto& [file, name] : index.account->parts) files[name].push_back(file);
  return files;
}

/// Of all bytes of an image; nothing where they cannot be read.
std::optional<std::string> contents_of(const Index& index, const std::vector<std::string>* parts,
                                       const std::string& image) try {
  std::vector<fs::path> files;
  std::error_code error;
  if (parts != nullptr && !fs::is_regular_file(index.folder / image, error)) {
    for (const std::string& part : *parts) files.push_back(index.folder / part);
  } else {
    files = source_files(index.folder / image);
  }
  if (files.empty()) return std::nullopt;
  std::vector<std::string> hashes;
  for (const fs::path& file : files) hashes.push_back(sha256_of_file(file));
  std::sort(hashes.begin(), hashes.end());
  return join(hashes, " ");
} catch (const std::exception&) {
  return std::nullopt;
}

std::string named(const Index& index, const Images& group) {
  constexpr std::size_t most = 8;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(group.size(), most); ++i) {
    const Case& entry = index.cases[group[i].of_case];
    words.push_back(text(group[i].file, " (patient ", entry.patient, ", ", to_text(entry.split), ')'));
  }
  if (group.size() > most) words.push_back(text(group.size() - most, " more"));
  return join(words, " = ");
}

[[noreturn]] void refuse(const Index& index, const std::vector<Images>& groups) {
  std::vector<std::string> rows;
  for (const Images& group : groups) rows.push_back(named(index, group));
  fail(Exit::data,
       text(groups.size(), groups.size() == 1 ? " image lies" : " images lie",
            " in more than one split, under several names:", items(rows)),
       "leave all but one of each out with data.exclude, or make them one patient's with "
       "data.patient_pattern or "
       "a list's column patient; data.allow_copies=true trains on them all the same");
}

}  // namespace

std::vector<Images> copied_images(const Index& index, const std::map<std::string, FileState>& states) {
  if (index.is_invented()) return {};
  Images images;
  std::set<std::string> bad;
  for (const BadFile& file : index.bad) bad.insert(file.path);
  for (std::size_t i = 0; i < index.cases.size(); ++i) {
    if (bad.contains(index.cases[i].name())) continue;
    for (const auto& [name, file] : index.cases[i].files)
      if (is_image(name)) images.push_back({file, i});
  }
  const auto remembered = [&](const std::string& file) -> std::optional<std::pair<uint64_t, uint64_t>> {
    const auto found = states.find(file);
    return found == states.end() ? std::nullopt : look_of(found->second);
  };
  // Of many files the states have seen two blocks each, which volumes with empty borders have in common.
  const auto looked_at = [&](const std::string& file) -> std::optional<std::pair<uint64_t, uint64_t>> {
    const auto state = state_of_source(index.folder / file);
    return state ? look_of(*state) : std::nullopt;
  };
  const auto parts = files_of_series(index);
  const auto read_whole = [&](const std::string& file) {
    const auto found = parts.find(file);
    return contents_of(index, found == parts.end() ? nullptr : &found->second, file);
  };
  std::vector<Images> copies;
  for (const Images& alike : groups_by(index, images, remembered)) {
    for (const Images& still_alike : groups_by(index, alike, looked_at)) {
      for (Images& same : groups_by(index, still_alike, read_whole)) copies.push_back(std::move(same));
    }
  }
  std::sort(copies.begin(), copies.end(),
            [](const Images& left, const Images& right) { return left.front().file < right.front().file; });
  return copies;
}

std::vector<std::string> check_copies(const Index& index, const std::map<std::string, FileState>& states,
                                      const DataConfig& data) {
  std::vector<Images> across_splits, across_patients;
  for (Images& group : copied_images(index, states)) {
    std::set<Split> splits;
    for (const CopiedImage& image : group) splits.insert(index.cases[image.of_case].split);
    (splits.size() > 1 ? across_splits : across_patients).push_back(std::move(group));
  }
  if (!across_splits.empty() && !data.allow_copies) refuse(index, across_splits);
  std::vector<std::string> notes;
  const auto note = [&](const std::vector<Images>& groups, const char* what) {
    if (groups.empty()) return;
    notes.push_back(text(groups.size(), groups.size() == 1 ? " image has" : " images have", " several names ",
                         what, ", for instance ", named(index, groups.front())));
  };
  note(across_splits,
       "and lie in more than one split, which data.allow_copies lets them (evaluate leaves out "
       "patients whose images the run has trained on)");
  note(across_patients, "that belong to several patients of one split");
  return notes;
}

}  // namespace larmor

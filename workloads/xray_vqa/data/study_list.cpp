#include "workloads/xray_vqa/data/study_list.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <unordered_map>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/gzip.h"

namespace larmor::xray_vqa {
namespace {

constexpr uint64_t largest_table = uint64_t{1} << 30;

struct Table {
  std::filesystem::path path;
  CsvTable rows;

  std::size_t column(std::string_view name) const {
    const int64_t place = rows.find(name);
    if (place >= 0) return static_cast<std::size_t>(place);
    fail(Exit::data, text(path.string(), " has no column ", name, ", only ", rows.listed()),
         "its columns have moved: fetch the table of version 2.0.0 or 2.1.0");
  }
  [[noreturn]] void refuse(const CsvTable::Row& row, std::string_view what) const {
    fail(Exit::data, text(path.string(), ':', row.line, ": ", what), "fetch the table again");
  }
};

// The file whose name begins so, whatever its version.
std::filesystem::path find_table(const std::filesystem::path& folder, std::string_view name) {
  std::vector<std::filesystem::path> found;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      const bool fits = file.starts_with("mimic-cxr-") &&
                        (file.ends_with(text(name, ".csv")) || file.ends_with(text(name, ".csv.gz")));
      if (fits) found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? std::filesystem::path() : found.back();
}

Table read_table(const std::filesystem::path& path) {
  const std::string bytes = read_text(path, largest_table);
  const auto view = std::as_bytes(std::span(bytes));
  if (!is_gzip(view)) return {path, parse_csv(bytes, path.string())};
  try {
    const Gunzipped plain = gunzip(view);
    const std::string_view words(reinterpret_cast<const char*>(plain.bytes.data()), plain.bytes.size());
    return {path, parse_csv(words, path.string())};
  } catch (const Error& error) {
    if (error.message().starts_with(path.string())) throw;
    throw error.within(path.string());
  }
}

Table needed_table(const std::filesystem::path& folder, std::string_view name) {
  const auto path = find_table(folder, name);
  if (path.empty()) {
    fail(Exit::data, text(folder.string(), " has no table mimic-cxr-*-", name, ".csv.gz"),
         "data.folder is the folder of MIMIC-CXR-JPG, with its tables beside files/");
  }
  return read_table(path);
}

// "50414267" and "s50414267" are one.
std::string with_letter(char letter, std::string_view number) {
  if (!number.empty() && number.front() == letter) return std::string(number);
  return text(letter, number);
}

int64_t whole_number(std::string_view cell) {
  int64_t value = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

// Smaller is better; nothing for a view that is not wanted.
std::optional<int> rank_of_view(const std::string& view, Views views) {
  if (view == "PA") return 0;
  if (view == "AP") return 1;
  constexpr std::array<std::string_view, 4> lateral = {"LATERAL", "LL", "LAO", "RAO"};
  const bool is_lateral = std::find(lateral.begin(), lateral.end(), view) != lateral.end();
  if (is_lateral && views == Views::frontal_only) return std::nullopt;
  return is_lateral ? 3 : 2;  // AP AXIAL, PA LLD, and those that nobody has named
}

std::optional<Split> split_called(const std::string& word) {
  if (word == "train") return Split::train;
  if (word == "validate" || word == "val" || word == "validation") return Split::val;
  if (word == "test") return Split::test;
  return std::nullopt;
}

struct Candidate {
  Study study;
  int rank = 0;
};
using Candidates = std::unordered_map<std::string, Candidate>;

// Which images there are, and the split of each: by image.
std::unordered_map<std::string, Split> read_splits(const Table& table) {
  const auto image = table.column("dicom_id"), split = table.column("split");
  std::unordered_map<std::string, Split> splits;
  for (const auto& row : table.rows.rows) {
    const auto known = split_called(row.cells[split]);
    if (!known) table.refuse(row, text("the split ", row.cells[split], " is none of train, validate, test"));
    splits.emplace(row.cells[image], *known);
  }
  return splits;
}

Candidates best_images(const Table& metadata, const std::unordered_map<std::string, Split>& splits,
                       Views views, int64_t& studies) {
  const auto image = metadata.column("dicom_id"), subject = metadata.column("subject_id");
  const auto study = metadata.column("study_id"), view = metadata.column("ViewPosition");
  const auto rows = metadata.column("Rows");
  const auto columns = metadata.column("Columns");
  Candidates best;
  std::unordered_map<std::string, bool> seen;
  for (const auto& row : metadata.rows.rows) {
    seen.emplace(row.cells[study], true);
    const auto rank = rank_of_view(row.cells[view], views);
    if (!rank) continue;
    Study made{.id = with_letter('s', row.cells[study]),
               .patient = with_letter('p', row.cells[subject]),
               .image = {},
               .image_id = row.cells[image],
               .width = whole_number(row.cells[columns]),
               .height = whole_number(row.cells[rows]),
               .split = {},
               .labels = {}};
    if (made.patient.size() < 3 || made.width <= 0 || made.height <= 0)
      metadata.refuse(row, "an image without a patient or a size");
    made.image = text("files/", made.patient.substr(0, 3), '/', made.patient, '/', made.id, '/',
                      made.image_id, ".jpg");
    if (const auto split = splits.find(made.image_id); split != splits.end()) made.split = split->second;
    const auto [known, is_new] = best.try_emplace(made.id, Candidate{made, *rank});
    Candidate& held = known->second;
    if (is_new) continue;
    if (std::pair(*rank, made.image_id) < std::pair(held.rank, held.study.image_id)) held = {made, *rank};
  }
  studies = static_cast<int64_t>(seen.size());
  return best;
}

int64_t add_labels(const Table& table, Uncertain uncertain, Candidates& studies) {
  const auto study = table.column("study_id");
  std::array<std::size_t, chexpert_labels> places{};
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = table.column(chexpert_names[i]);
  }
  int64_t labelled = 0;
  for (const auto& row : table.rows.rows) {
    const auto found = studies.find(with_letter('s', row.cells[study]));
    if (found == studies.end()) continue;
    ++labelled;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto label = label_of_cell(row.cells[places[i]], uncertain);
      if (!label)
        table.refuse(row, text(chexpert_names[i], " is ", row.cells[places[i]], ", not 1, 0, -1 or blank"));
      found->second.study.labels[i] = *label;
    }
  }
  return labelled;
}

}  // namespace

const Study* StudyList::find(std::string_view id) const {
  const auto found =
      std::lower_bound(studies.begin(), studies.end(), id,
                       [](const Study& study, std::string_view wanted) { return study.id < wanted; });
  return found != studies.end() && found->id == id ? &*found : nullptr;
}

StudyList read_mimic_studies(const std::filesystem::path& folder, Views views, Uncertain uncertain) {
  int64_t all = 0;
  Candidates best;
  {
    const auto splits = read_splits(needed_table(folder, "split"));
    best = best_images(needed_table(folder, "metadata"), splits, views, all);
  }
  const int64_t labelled = add_labels(needed_table(folder, "chexpert"), uncertain, best);
  std::string by_radiologist;
  if (const auto path = find_table(folder, "test-set-labeled"); !path.empty())
    by_radiologist = text(", ", add_labels(read_table(path), uncertain, best), " of them by a radiologist");
  StudyList list;
  for (auto& [id, candidate] : best) {
    if (candidate.study.split) list.studies.push_back(std::move(candidate.study));
  }
  std::sort(list.studies.begin(), list.studies.end(),
            [](const Study& a, const Study& b) { return a.id < b.id; });
  list.without_image = all - static_cast<int64_t>(list.studies.size());
  list.sentence = text(list.studies.size(), " of ", all, " studies have ",
                       views == Views::frontal_only ? "a frontal image" : "an image", ", ", labelled,
                       " have labels of CheXpert", by_radiologist);
  if (list.studies.empty())
    fail(Exit::data, text(folder.string(), ": no study has an image: ", list.sentence), "check the tables");
  return list;
}

}  // namespace larmor::xray_vqa

#include "larmor/data/index/index.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/data/index/find_cases.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

// With patients for files and splits: what a model must not be judged on is what it has seen.
void refuse_shared_files(const FoundCases& found) {
  std::map<std::string, std::string> owner;
  std::set<std::string> faults;
  for (const FoundCase& entry : found.cases) {
    for (const auto& [name, file] : entry.files) {
      if (name == "label") continue;
      const auto [known, is_new] = owner.emplace(file, entry.patient);
      if (is_new || known->second == entry.patient) continue;
      faults.insert(text(file, " belongs to patient ", known->second, " and to patient ", entry.patient));
    }
  }
  if (!faults.empty()) {
    fail(Exit::data, join(std::vector(faults.begin(), faults.end()), "; "), "correct data.list");
  }
}

/// Whom the config names for a split.
std::set<std::string> named_patients(const SplitSection& section) {
  std::set<std::string> names;
  for (const Json* part : {&section.train, &section.val, &section.test}) {
    if (!part->is_array()) continue;
    for (const Json& name : *part) names.insert(name.is_string() ? name.get<std::string>() : name.dump());
  }
  return names;
}

// What a folder is called gives way to a patient's name in the config; a list's column does not.
std::map<std::string, Split> given_splits(const FoundCases& found, const DataConfig& data) {
  const auto named = found.splits_are_folders ? named_patients(data.split) : std::set<std::string>();
  std::map<std::string, Split> given;
  std::set<std::string> faults;
  for (const FoundCase& entry : found.cases) {
    if (!entry.split || named.contains(entry.patient)) continue;
    const auto [known, is_new] = given.emplace(entry.patient, *entry.split);
    if (!is_new && known->second != *entry.split) {
      faults.insert(text("patient ", entry.patient, " is in ", to_text(known->second), " and in ",
                         to_text(*entry.split)));
    }
  }
  const bool has_splits_already = found.splits_are_folders && data.bad_files == any_number_of_files;
  if (!faults.empty() && !has_splits_already) {
    fail(Exit::data, join(std::vector(faults.begin(), faults.end()), "; "),
         found.splits_are_folders ? "if they are different people, tell them apart by data.patient_pattern, "
                                    "or say data.split.by=file"
                                  : "give all volumes of a patient the same split in data.list");
  }
  return given;
}

std::string counted(int64_t count, const char* noun) { return text(count, ' ', noun, count == 1 ? "" : "s"); }

std::string sentence(const FoundCases& found, const PatientSplits& splits) {
  std::set<std::string> patients;
  for (const FoundCase& entry : found.cases) patients.insert(entry.patient);
  int64_t counts[3] = {};
  for (const auto& [patient, split] : splits.of) ++counts[static_cast<size_t>(split)];
  std::string line = text(counted(static_cast<int64_t>(found.cases.size()), found.noun), " of ",
                          counted(static_cast<int64_t>(patients.size()), "patient"), " (", found.patients_by,
                          "): ", counts[0], " train, ", counts[1], " val, ", counts[2], " test");
  for (const std::string& note : splits.notes) line += "; " + note;
  return line;
}

Json json_of_states(const std::map<std::string, FileState>& states) {
  Json json = Json::object();
  for (const auto& [file, state] : states) json[file] = {state.bytes, state.modified_ns, state.sample};
  return json;
}

std::map<std::string, FileState> states_from(const Json& json) {
  std::map<std::string, FileState> states;
  for (const auto& [file, state] : json.items()) {
    states[file] = {state.at(0).get<uint64_t>(), state.at(1).get<int64_t>(), state.at(2).get<uint64_t>()};
  }
  return states;
}

Json to_json(const IndexedTable& table) {
  return {
      {"name", table.name}, {"file", table.file.string()}, {"rows", table.rows}, {"sha256", table.sha256}};
}

IndexedTable table_from(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .file = json.at("file").get<std::string>(),
          .rows = json.at("rows").get<int64_t>(),
          .sha256 = json.at("sha256").get<std::string>()};
}

// One line a case; JSON because its quotes keep any two lists of names apart.
std::string canonical_line(const Case& entry) {
  Json line = Json::array({entry.files, entry.patient, to_text(entry.split), entry.bytes, entry.label});
  if (!entry.values.empty()) line.push_back(entry.values);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_of_cases(const std::vector<Case>& all) {
  Json cases = Json::array();
  for (const Case& entry : all) {
    cases.push_back({{"files", entry.files},
                     {"patient", entry.patient},
                     {"split", to_text(entry.split)},
                     {"bytes", entry.bytes},
                     {"label", entry.label}});
    if (!entry.values.empty()) cases.back()["values"] = entry.values;
  }
  return cases;
}

Case case_from_json(const Json& json) {
  Case entry;
  entry.files = json.at("files").get<std::map<std::string, std::string>>();
  entry.patient = json.at("patient").get<std::string>();
  entry.split = split_from_text(json.at("split").get<std::string>());
  entry.bytes = json.at("bytes").get<uint64_t>();
  entry.label = json.at("label").get<std::string>();
  if (json.contains("values")) entry.values = json.at("values").get<std::map<std::string, double>>();
  if (entry.files.empty()) fail(Exit::data, "the index holds a case without files");
  return entry;
}

// A split of so few says little, and one of them in the wrong place a lot.
void warn_of_few(std::size_t patients, const FoundCases& found, FileAccount& account) {
  constexpr std::size_t few = 5;
  if (patients >= few || found.folder.empty()) return;
  account.warnings.push_back(
      text("there ", patients == 1 ? "is 1 patient" : text("are ", patients, " patients"),
           " in all: if they are more, data.layout or data.patient_pattern tells them apart"));
}

Index split_cases(const DataConfig& data, uint64_t seed, FoundCases found) {
  refuse_shared_files(found);
  std::set<std::string> patients;
  for (const FoundCase& entry : found.cases) patients.insert(entry.patient);
  const auto splits = split_patients({patients.begin(), patients.end()}, given_splits(found, data),
                                     data.split, seed, fold_from_text(data.fold));

  Index index;
  index.kind = data.kind;
  index.folder = found.folder;
  index.channels = found.channels;
  for (const FoundCase& entry : found.cases) {
    const auto split = splits.of.find(entry.patient);
    if (split == splits.of.end()) {
      for (const auto& [name, file] : entry.files)
        found.account.pass_over("of a patient who is in no split of data.split", file);
      continue;
    }
    index.cases.push_back(
        {entry.files, entry.patient, split->second, entry.bytes, entry.label, entry.values});
  }
  index.patients_by = sentence(found, splits);
  warn_of_few(patients.size(), found, found.account);
  for (auto& [reason, files] : found.account.passed_over) std::sort(files.begin(), files.end());
  std::sort(found.account.parts.begin(), found.account.parts.end());
  index.account = std::make_shared<const FileAccount>(std::move(found.account));
  if (index.cases.empty()) {
    fail(Exit::data, text("no patient is in any split: ", index.patients_by),
         "give data.split.train a fraction above 0");
  }
  return index;
}

/// How many letters all of these begin with in common.
std::size_t shared_beginning(const std::vector<std::string>& words) {
  std::size_t length = words.front().size();
  for (const std::string& word : words) {
    const auto differs = std::ranges::mismatch(words.front(), word).in1;
    length = std::min(length, static_cast<std::size_t>(differs - words.front().begin()));
  }
  return length;
}

bool is_of_a_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || static_cast<unsigned char>(letter) >= 0x80;
}

}  // namespace

std::string Case::title() const {
  std::vector<std::string> paths;
  for (const auto& [file, path] : files) {
    if (file != "label" && file != "mask" && !file.starts_with("mask_")) paths.push_back(path);
  }
  if (paths.size() < 2) return name();
  std::size_t end = shared_beginning(paths);
  const bool cuts_a_word = std::ranges::any_of(
      paths, [end](const std::string& path) { return end < path.size() && is_of_a_word(path[end]); });
  while (cuts_a_word && end > 0 && is_of_a_word(paths.front()[end - 1])) --end;
  while (end > 0 && !is_of_a_word(paths.front()[end - 1])) --end;
  const std::string shared = paths.front().substr(0, end);
  if (shared.empty()) return patient.empty() ? name() : patient;
  // "sub-01/sub-01" says the same twice.
  const std::filesystem::path whole(shared);
  return whole.filename() == whole.parent_path().filename() ? whole.parent_path().string() : shared;
}

bool is_image(std::string_view name) { return name == "image" || name.starts_with("image_"); }

std::string_view modality_of(std::string_view name) {
  return name.starts_with("image_") ? name.substr(std::string_view("image_").size()) : name;
}

std::string name_of_modality(std::string_view modality) {
  const bool is_a_name = is_image(modality) || is_mask(modality) || modality == "label";
  return is_a_name ? std::string(modality) : text("image_", modality);
}

int64_t Index::patients() const {
  std::set<std::string> names;
  for (const Case& entry : cases) names.insert(entry.patient);
  return static_cast<int64_t>(names.size());
}

std::vector<std::string> Index::distinct_files() const {
  std::set<std::string> files;
  for (const Case& entry : cases) {
    for (const auto& [name, file] : entry.files) files.insert(file);
  }
  return {files.begin(), files.end()};
}

const IndexedTable& Index::table(std::string_view name) const {
  for (const IndexedTable& table : tables) {
    if (table.name == name) return table;
  }
  fail(Exit::data, text("the index has no table ", name), "start a new run");
}

std::vector<int64_t> Index::of(Split split) const {
  std::vector<int64_t> places;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].split == split) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

std::string Index::sha256() const {
  Sha256 hash;
  hash.update(text("larmor index 1 ", kind, '\n'));
  if (!std::is_sorted(channels.begin(), channels.end()))
    hash.update(Json(channels).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  for (const Case& entry : cases) hash.update(canonical_line(entry));
  for (const IndexedTable& table : tables)
    hash.update(Json({table.name, table.rows, table.sha256}).dump() + "\n");
  return hash.hex();
}

Index make_index(const DataConfig& data, uint64_t seed) { return split_cases(data, seed, find_cases(data)); }

Index make_index(const DataConfig& data, uint64_t seed, const std::vector<ListedCase>& listed,
                 FileAccount account) {
  FoundCases found = find_listed_cases(data, listed);
  found.account.join(std::move(account));
  return split_cases(data, seed, std::move(found));
}

Index make_invented_index(const DataConfig& data, uint64_t seed, const std::vector<ListedCase>& invented,
                          uint64_t bytes_of_each) {
  return split_cases(data, seed, invented_cases(invented, bytes_of_each));
}

DataConfig without_splits(DataConfig data) {
  data.split.train = 1.0;
  data.split.val = data.split.test = 0.0;
  data.fold.clear();
  data.bad_files = any_number_of_files;
  return data;
}

Json to_json(const Index& index) {
  Json json = {{"kind", index.kind},
               {"folder", index.folder.string()},
               {"patients_by", index.patients_by},
               {"sha256", index.sha256()},
               {"cases", json_of_cases(index.cases)}};
  if (!index.channels.empty()) json["channels"] = index.channels;
  for (const IndexedTable& table : index.tables) json["tables"].push_back(to_json(table));
  if (!index.states.empty()) json["states"] = json_of_states(index.states);
  if (!index.touched.empty()) json["touched"] = index.touched;
  if (!index.left_out.empty()) json["left_out"] = json_of_cases(index.left_out);
  if (!index.bad.empty()) json["bad"] = to_json(index.bad);
  return json;
}

Index index_from_json(const Json& json) {
  Index index;
  std::string sha256;
  try {
    index.kind = json.at("kind").get<std::string>();
    index.folder = json.at("folder").get<std::string>();
    index.patients_by = json.at("patients_by").get<std::string>();
    sha256 = json.at("sha256").get<std::string>();
    for (const Json& entry : json.at("cases")) index.cases.push_back(case_from_json(entry));
    // Runs of earlier versions have none of these.
    index.channels = json.value("channels", std::vector<std::string>());
    for (const Json& table : json.value("tables", Json::array())) index.tables.push_back(table_from(table));
    index.states = states_from(json.value("states", Json::object()));
    index.touched = json.value("touched", std::vector<std::string>());
    for (const Json& entry : json.value("left_out", Json::array()))
      index.left_out.push_back(case_from_json(entry));
    index.bad = bad_files_from(json.value("bad", Json::array()));
  } catch (const Json::exception& error) {
    fail(Exit::data, text("the index is damaged: ", error.what()), "start a new run");
  }
  if (index.sha256() != sha256) {
    fail(Exit::data, "the index is damaged: its hash does not fit its cases", "start a new run");
  }
  return index;
}

}  // namespace larmor

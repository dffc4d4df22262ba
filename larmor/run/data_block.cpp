#include "larmor/run/data_block.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/files/disk_room.h"
#include "larmor/base/text.h"
#include "larmor/formats/volume.h"
#include "larmor/run/room.h"
#include "larmor/run/timetable.h"

namespace larmor {
namespace {

constexpr Split splits_of_a_run[] = {Split::train, Split::val, Split::test};

/// How many files a case has beside those that it names, by its name.
std::map<std::string, int64_t> parts_of_cases(const Index& index) {
  std::map<std::string, int64_t> parts;
  if (index.account == nullptr) return parts;
  for (const auto& [file, name] : index.account->parts) ++parts[name];
  return parts;
}

/// A case of slices is called after its folder, which is no file.
int64_t count_files(const Case& entry, const std::map<std::string, int64_t>& parts) {
  int64_t files = 0;
  for (const auto& [name, file] : entry.files) {
    const auto slices = parts.find(file);
    const bool is_series = slices != parts.end() && is_named_after_slices(file);
    files += (is_series ? 0 : 1) + (slices == parts.end() ? 0 : slices->second);
  }
  return files;
}

Json counts_of_splits(const Index& index) {
  const auto parts = parts_of_cases(index);
  Json splits = Json::object();
  for (const Split split : splits_of_a_run) {
    std::set<std::string> patients;
    int64_t files = 0;
    const auto cases = index.of(split);
    for (const int64_t number : cases) {
      const Case& entry = index.cases[static_cast<std::size_t>(number)];
      patients.insert(entry.patient);
      files += index.is_invented() ? 0 : count_files(entry, parts);
    }
    splits[to_text(split)] = {{"patients", patients.size()}, {"cases", cases.size()}, {"files", files}};
  }
  return splits;
}

Json cases_by_modality(const Index& index) {
  Json modalities = Json::object();
  for (const std::string& channel : index.channels) modalities[channel] = 0;
  for (const Case& entry : index.cases) {
    for (const auto& [name, file] : entry.files) {
      const std::string modality(modality_of(name));
      modalities[modality] = modalities.value(modality, 0) + 1;
    }
  }
  return modalities;
}

Json first_example(const Index& index, int64_t number) {
  const Case& entry = index.cases[static_cast<std::size_t>(number)];
  const auto image = std::find_if(entry.files.begin(), entry.files.end(),
                                  [](const auto& file) { return is_image(file.first); });
  if (index.is_invented() || image == entry.files.end()) return nullptr;
  constexpr uint64_t small = uint64_t{16} << 20;
  if (entry.bytes > small) return nullptr;  // reading it would hold up whoever only wants to see a plan
  const FileReport report = inspect_file(index.folder / image->second);
  if (!report.readable) return nullptr;
  return {{"path", image->second}, {"shape", report.shape}, {"spacing_mm", report.spacing_mm},
          {"dtype", report.dtype}, {"min", report.min},     {"max", report.max}};
}

Json passed_over(const Index& index) {
  Json reasons = Json::array();
  if (index.account == nullptr) return reasons;
  for (const auto& [reason, files] : index.account->passed_over)
    reasons.push_back({{"reason", reason}, {"count", files.size()}, {"example", files.front()}});
  std::stable_sort(reasons.begin(), reasons.end(), [](const Json& left, const Json& right) {
    return left.at("count").get<int64_t>() > right.at("count").get<int64_t>();
  });
  return reasons;
}

Json json_of_known(const auto& value) { return value ? Json(*value) : Json(nullptr); }

std::string counted(int64_t count, const char* noun) { return text(count, ' ', noun, count == 1 ? "" : "s"); }

std::string padded(std::string word, std::size_t width) {
  word.insert(0, width > word.size() ? width - word.size() : 0, ' ');
  return word;
}

void add_splits(const Json& block, Lines& lines) {
  constexpr std::size_t width = 10;
  std::string head = "  split  ";
  for (const char* column : {"patients", "cases", "files"}) head += padded(column, width);
  lines.add(head);
  for (const auto& [split, counts] : block.at("splits").items()) {
    std::string line = text("  ", split, std::string(7 - split.size(), ' '));
    for (const char* column : {"patients", "cases", "files"})
      line += padded(text(counts.at(column).get<int64_t>()), width);
    lines.add(line);
  }
}

void add_work(const Json& block, Lines& lines) {
  std::vector<std::string> words;
  if (!block.at("steps").is_null()) words.push_back(counted(block.at("steps").get<int64_t>(), "step"));
  const Json& bytes = block.at("bytes");
  if (!bytes.at("checkpoint").is_null()) {
    words.push_back(text("a checkpoint takes about ", human_bytes(bytes.at("checkpoint").get<uint64_t>()),
                         ", those that are kept ", human_bytes(bytes.at("checkpoints").get<uint64_t>())));
  }
  if (!bytes.at("cache").is_null())
    words.push_back(text("the prepared cache ", human_bytes(bytes.at("cache").get<uint64_t>())));
  if (!bytes.at("free").is_null())
    words.push_back(text(human_bytes(bytes.at("free").get<uint64_t>()), " are free where runs go"));
  if (!words.empty()) lines.add("  the whole run: " + join(words, "; "));
}

std::string first_message(const Json& first) {
  std::vector<std::string> shape, spacing;
  for (const auto& size : first.at("shape")) shape.push_back(text(size.get<int64_t>()));
  for (const auto& step : first.at("spacing_mm")) spacing.push_back(fixed(step.get<double>(), 3));
  return text("  the first: ", join(shape, " x "), " voxels of ", join(spacing, " x "), " mm, ",
              first.at("dtype").get<std::string>(), " from ", fixed(first.at("min").get<double>(), 2), " to ",
              fixed(first.at("max").get<double>(), 2));
}

}  // namespace

WorkOfRun work_of_run(const RunConfig& config, const Demand& demand, const Plan& plan) {
  WorkOfRun work;
  double examples = static_cast<double>(demand.training_examples);
  if (config.data.cache == "smart") examples = std::ceil(examples * config.data.cache_rate);
  const Timetable timetable(config.train, static_cast<int64_t>(examples), plan.global_batch);
  if (timetable.total_steps() > 0) work.steps = timetable.total_steps();
  work.checkpoint_bytes = checkpoint_bytes(demand);
  if (const auto room = disk_room_for(config.run.folder)) work.free_bytes = room->free_bytes;
  return work;
}

Json data_block(const Index& index, const RunConfig& config, const WorkOfRun& work) {
  Json block;
  block["splits"] = counts_of_splits(index);
  int64_t files = 0;
  for (const auto& [split, counts] : block["splits"].items()) files += counts.at("files").get<int64_t>();
  block["patients"] = index.patients();
  block["cases"] = index.cases.size();
  block["files"] = files;
  block["patients_by"] = index.patients_by;
  block["modalities"] = cases_by_modality(index);
  constexpr std::size_t most_examples = 3;
  block["examples"] = Json::array();
  const auto training = index.of(Split::train);
  for (const int64_t number : training) {
    if (block["examples"].size() == most_examples) break;
    block["examples"].push_back(index.cases[static_cast<std::size_t>(number)].name());
  }
  block["first"] = training.empty() ? Json(nullptr) : first_example(index, training.front());
  block["passed_over"] = passed_over(index);
  block["warnings"] = index.account == nullptr ? std::vector<std::string>() : index.account->warnings;
  block["steps"] = json_of_known(work.steps);
  const auto kept = static_cast<uint64_t>(config.checkpoint.keep_last + config.checkpoint.keep_best);
  block["bytes"]["checkpoint"] = json_of_known(work.checkpoint_bytes);
  block["bytes"]["checkpoints"] = work.checkpoint_bytes ? Json(*work.checkpoint_bytes * kept) : Json(nullptr);
  block["bytes"]["cache"] = json_of_known(work.cache_bytes);
  block["bytes"]["free"] = json_of_known(work.free_bytes);
  return block;
}

Lines lines_of_data(const Json& block) {
  Lines lines;
  lines.add(text("trains on ", block.at("patients_by").get<std::string>()));
  add_splits(block, lines);
  std::vector<std::string> words;
  for (const auto& [name, cases] : block.at("modalities").items())
    words.push_back(text(name, ' ', cases.get<int64_t>()));
  if (words.size() > 1) lines.add("  cases with " + join(words, ", "));
  words.clear();
  for (const Json& example : block.at("examples")) words.push_back(example.get<std::string>());
  if (!words.empty()) lines.add("  for example " + join(words, ", "));
  if (!block.at("first").is_null()) lines.add(first_message(block.at("first")));
  for (const Json& entry : block.at("passed_over")) {
    lines.add(text("  passed over: ", counted(entry.at("count").get<int64_t>(), "file"), ", ",
                   entry.at("reason").get<std::string>(), " (", entry.at("example").get<std::string>(), ')'));
  }
  for (const Json& warning : block.at("warnings")) lines.add("  warning: " + warning.get<std::string>());
  add_work(block, lines);
  return lines;
}

}  // namespace larmor

#include "tests/processes/support/trained_state.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "larmor/base/json.h"
#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> files_of(const fs::path& checkpoint) {
  std::map<std::string, std::string> files;
  const auto manifest = read_json(checkpoint / "manifest.json");
  for (const auto& file : manifest.at("files")) {
    const auto name = file.at("name").get<std::string>();
    auto content = file.at("sha256").get<std::string>();
    if (name == "state.json") {
      auto state = read_json(checkpoint / name);
      state["trainer"].erase("elapsed_seconds");
      content = state.dump();
    }
    files[name] = content;
  }
  return files;
}

std::vector<std::string> steps_of(const fs::path& run) {
  std::map<int64_t, std::string> by_step;
  int64_t generation = 0;
  for (const auto& event : events_of(run, "step")) {
    const auto step = event.at("step").get<int64_t>();
    if (event.at("generation").get<int64_t>() > generation) {
      generation = event.at("generation").get<int64_t>();
      by_step.erase(by_step.lower_bound(step), by_step.end());  // superseded
    }
    Json kept;
    for (const auto& [name, value] : event.at("values").items()) {
      if (!name.starts_with("perf/") && !name.starts_with("mem/")) kept[name] = value;
    }
    by_step[step] = text(step, " ", event.at("examples").dump(), " ", kept.dump());
  }
  std::vector<std::string> lines;
  for (auto& [step, line] : by_step) lines.push_back(std::move(line));
  return lines;
}

/// The third and fourth field of /proc/PID/stat; {'X', 0} when there is no such process.
std::pair<char, int> state_and_parent(int process) {
  std::ifstream file(text("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  const auto end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return {'X', 0};
  std::istringstream rest(line.substr(end_of_name + 1));
  char state = 'X';
  int parent = 0;
  rest >> state >> parent;
  return {state, parent};
}

}  // namespace

TrainedState trained_state(const fs::path& run) {
  return {.files = files_of(run / "checkpoints" / "last"), .steps = steps_of(run)};
}

std::vector<std::string> checkpoint_names(const fs::path& run) {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(run / "checkpoints")) {
    const auto name = item.path().filename().string();
    if (name.starts_with("step-") && !item.path().has_extension()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<int64_t> generations_of(const fs::path& run) {
  std::vector<int64_t> generations;
  for (const auto& event : events_of(run)) {
    const auto generation = event.at("generation").get<int64_t>();
    if (std::find(generations.begin(), generations.end(), generation) == generations.end())
      generations.push_back(generation);
  }
  return generations;
}

std::vector<int> children_of(int parent) {
  std::vector<int> children;
  for (const auto& item : fs::directory_iterator("/proc")) {
    const auto name = item.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const int process = std::stoi(name);
    if (state_and_parent(process).second == parent) children.push_back(process);
  }
  return children;
}

bool is_over(int process) {
  const char state = state_and_parent(process).first;
  return state == 'X' || state == 'Z';
}

}  // namespace larmor::testing

// Where the configs that come with the program lie: beside an installed program, or in the source tree
// that a build folder belongs to.
#include <algorithm>
#include <sstream>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

fs::path configs_folder(const std::string& workload, const std::string& stage) {
  const auto configs = fs::path("workloads") / workload / stage / "configs";
  const auto program_folder = own_program().parent_path();
  const auto installed = program_folder.parent_path() / "share" / "larmor" / configs;
  if (fs::is_directory(installed)) return installed;
  for (auto folder = program_folder; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::is_directory(folder / configs)) return folder / configs;
  }
  fail(Exit::environment,
       text("the configs of the stage ", stage, " of ", workload, " were not found near ",
            program_folder.string()),
       "run the program from its build folder or its installed place");
}

}  // namespace

std::vector<std::string> shipped_configs(const std::string& workload, const std::string& stage) {
  std::vector<std::string> names;
  for (const auto& item : fs::directory_iterator(configs_folder(workload, stage))) {
    if (item.path().extension() == ".yaml") names.push_back(item.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

fs::path find_config(const std::string& name, const std::string& workload, const std::string& stage) {
  const auto shipped = configs_folder(workload, stage) / (name + ".yaml");
  const bool plain_name = name.find('/') == std::string::npos;
  if (plain_name && fs::is_regular_file(shipped)) return shipped;
  if (fs::is_regular_file(name)) return name;
  const auto names = shipped_configs(workload, stage);
  const auto near = nearest(name, names);
  fail(Exit::usage,
       text("there is no config ", name, ": neither a file nor one that ships with the stage ", stage, " of ",
            workload),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "shipped: ", join(names, ", ")));
}

std::string config_purpose(const fs::path& config) {
  std::istringstream lines(read_text(config));
  std::vector<std::string> comment;
  for (std::string line; std::getline(lines, line) && line.starts_with("# ");)
    comment.push_back(line.substr(2));
  return join(comment, " ");
}

std::size_t count_shipped(const std::vector<fs::path>& configs) {
  const auto is_elsewhere = [&](const fs::path& file) {
    return file.parent_path() != configs.front().parent_path();
  };
  return static_cast<std::size_t>(std::ranges::find_if(configs, is_elsewhere) - configs.begin());
}

}  // namespace larmor::app

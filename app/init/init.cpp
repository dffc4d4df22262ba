// `init`: a first config for the data of a folder, which trains here in minutes and says what to change for
// more.
#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/run/data_block.h"

#include "app/init/config_text.h"
#include "app/init/data_search.h"
#include "app/job/job_script.h"
#include "app/program.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

struct InitFlags {
  std::string output;
};

fs::path folder_asked_for(const VerbArguments& asked) {
  if (asked.target.empty() || asked.keys.size() != 1)
    fail(Exit::usage, "init takes a workload and the folder of its data",
         "larmor init WORKLOAD FOLDER; larmor list names the workloads");
  const fs::path folder = fs::absolute(asked.keys.front()).lexically_normal();
  std::error_code absent;
  if (!fs::is_directory(folder, absent))
    fail(Exit::data, text("there is no folder ", asked.keys.front()), "name the folder that the data lie in");
  return folder.has_filename() ? folder : folder.parent_path();
}

/// Those that the file can hold as they are; all others are for a person to write into it.
void refuse_other_keys(const VerbArguments& asked) {
  for (const auto& word : asked.overrides) {
    const auto key = word.substr(0, word.find('='));
    const bool is_taken =
        (key.starts_with("data.") || key.starts_with("from.") || key.starts_with("parallel.")) &&
        std::ranges::count(key, '.') <= 2 && word.find('=') != std::string::npos;
    if (!is_taken)
      fail(Exit::usage, text(word, ": init takes keys of data, from and parallel"),
           "leave it out, and change the file that init writes");
  }
}

void refuse_missing_runs(const VerbArguments& asked, const Workload& workload, const std::string& stage) {
  const auto& needs = workload.named(stage).needs;
  const bool is_given =
      std::ranges::any_of(asked.overrides, [](const auto& word) { return word.starts_with("from."); });
  if (needs.empty() || is_given) return;
  const auto& before = needs.back().stage;
  const auto begin = text("larmor init ", workload.name(), " ", shell_word(asked.keys.front()), " --stage ");
  fail(Exit::usage,
       text("the stage ", stage, " of ", workload.name(), " builds on a run of the stage ", before),
       text("first `", begin, before, "` and the training that it names, then `", begin, stage, " from.",
            before, "=RUN`"));
}

std::string name_of_file(const InitFlags& flags, const Workload& workload, const std::string& stage) {
  auto name = flags.output;
  if (name.empty()) name = text(workload.name(), workload.stages().size() > 1 ? "-" + stage : "", ".yaml");
  std::error_code unknown;
  if (fs::exists(fs::symlink_status(name, unknown)) && fs::is_regular_file(name, unknown))
    fail(Exit::usage, text(name, " is there already"),
         "give another name: --output FILE; or remove it first");
  return name;
}

/// The shipped config that is copied.
fs::path shipped_config(const Program& program, const Workload& workload, const std::string& stage) {
  const auto& configs = program.arguments().configs;
  if (configs.size() > 1) fail(Exit::usage, "init copies one config", "say -c once");
  return find_config(configs.empty() ? "small" : configs.front(), workload.name(), stage);
}

/// A step of voxels at which the longest side of an image has at most 128, but none that is finer than its
/// own.
std::string voxels_for(const Json& first) {
  double longest = 0, own = 0;
  for (std::size_t axis = 0; axis < std::min<std::size_t>(3, first.at("shape").size()); ++axis) {
    const double step = axis < first.at("spacing_mm").size() ? first.at("spacing_mm")[axis].get<double>() : 1;
    longest = std::max(longest, step * first.at("shape")[axis].get<double>());
    own = axis == 0 ? step : std::min(own, step);
  }
  constexpr std::array steps{0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0};
  constexpr double most_voxels = 128;
  const auto fits = [&](double step) { return longest / step <= most_voxels && step >= own; };
  const auto found = std::ranges::find_if(steps, fits);
  const auto step = text(found == steps.end() ? std::max(own, longest / most_voxels) : *found);
  return text("pixdim: [", step, ", ", step, ", ", step, "]");
}

void put_data(ConfigText& config, const VerbArguments& asked, const FoundData& found, const Json& block) {
  for (const auto* invented : {"phantom_", "cohort_", "modalities: null"}) config.take_out("data", invented);
  for (const auto* named : {"kind:", "folder:", "list:"}) config.take_out("data", named);
  const auto put = [&](const std::string& word, const std::string& why) {
    const auto dot = word.find('.'), sign = word.find('=');
    config.put(word.substr(0, dot), {word.substr(dot + 1, sign - dot - 1), word.substr(sign + 1), why});
  };
  for (const auto& word : asked.overrides) put(word, "as init was told");
  for (auto word = found.keys.rbegin(); word != found.keys.rend(); ++word) {
    const bool is_kind = word->starts_with("data.kind="), is_batch = word->starts_with("train.global_batch=");
    if (is_batch)
      put(*word, "there are no more examples to learn from");
    else
      put(*word, is_kind ? block.at("patients_by").get<std::string>() : "where they are");
  }
  if (!block.at("first").is_null()) config.replace("pixdim: [2, 2, 2]", voxels_for(block.at("first")));
}

std::string config_for(const FoundData& found, const Json& block, const VerbArguments& asked,
                       const fs::path& shipped, const std::string& named) {
  const auto& plan = found.draft.plan;
  ConfigText config(read_text(shipped));
  put_data(config, asked, found, block);
  config.put("train", {"micro_batch", text(plan.micro_batch),
                       text("by the plan: ", plan.world_size(),
                            plan.world_size() == 1 ? " rank here, " : " ranks here, ",
                            human_bytes(static_cast<uint64_t>(plan.memory.total())), " of the ",
                            human_bytes(static_cast<uint64_t>(plan.memory.available)), " that one has")});
  config.begin_with(
      {text("A first training, of minutes: larmor train ", named, " -c with this file."),
       "What is not said here is as in default.yaml; config explain in place of train shows it all."});
  return config.str();
}

/// It is read as `train` will read it.
void check_file(Program& program, const Workload& workload, const std::string& yaml) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "config.yaml";
  DiskStorage disk;  // nothing of this is an output
  write_text(disk, file, yaml);
  auto& words = program.arguments();
  const auto asked = words;
  words.quiet = true;
  words.configs = {file.string()};
  words.overrides.clear();
  draft_run(program.load(workload));
  words = asked;
}

int init(Program& program, const InitFlags& flags) {
  auto& asked = program.arguments();
  const auto& workload = program.workload(asked.target);
  const auto stage = program.stage_of(workload);
  const auto folder = folder_asked_for(asked);
  refuse_other_keys(asked);
  refuse_missing_runs(asked, workload, stage);
  const auto output = name_of_file(flags, workload, stage);
  const auto shipped = shipped_config(program, workload, stage);
  asked.configs = {shipped.string()};
  const auto found = search_data(program, workload, folder);
  const auto block = data_block(found.draft.index, found.config,
                                work_of_run(found.config, found.draft.demand, found.draft.plan));
  const auto names = shipped_configs(workload.name(), stage);
  const bool is_shipped_name = std::ranges::find(names, output) != names.end();
  const auto named = text(workload.name(), workload.stages().front() == stage ? "" : " --stage " + stage);
  const auto command =
      text("larmor train ", named, " -c ", shell_word(is_shipped_name ? "./" + output : output));
  const auto yaml = config_for(found, block, asked, shipped, named);
  check_file(program, workload, yaml);
  write_output(program.storage(), output, yaml);
  Lines lines = lines_of_data(block);
  lines.add(text("wrote ", output)).add(text("try it:    ", command, " --try")).add("train it:  " + command);
  program.show({{"output", output},
                {"workload", workload.name()},
                {"stage", stage},
                {"command", command},
                {"data", block}},
               lines);
  return 0;
}

}  // namespace

void add_init(Program& program) {
  const auto flags = std::make_shared<InitFlags>();
  auto& verb = program.add_workload_verb(
      "init", "a first config for the data of a folder, which trains here in minutes",
      [&program, flags] { return init(program, *flags); }, {.more_words = "FOLDER"});
  verb.add_option("--output", flags->output,
                  "the file to write (WORKLOAD.yaml, of several stages WORKLOAD-STAGE.yaml)");
}

}  // namespace larmor::app

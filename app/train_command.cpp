#include "app/train_command.h"

#include <cstdlib>
#include <map>
#include <regex>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/ranks/job.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

/// The word behind --resume.
std::string resume_word(const TrainRequest& request, const RunFolder& folder, int64_t step) {
  if (step == StartTerms::from_nothing) return "never";
  if (step == StartTerms::from_the_named) return fs::absolute(request.flags.resume).string();
  return fs::absolute(folder.checkpoints() / folder_name(step)).string();
}

/// As new_run_name() makes them.
bool is_new_name(const std::string& name, const RunConfig& config) {
  static const std::regex parts(R"((\d{8}-\d{6})-([a-z0-9_-]+?)(-\d{1,6})?)");
  std::smatch match;
  return std::regex_match(name, match, parts) && match[2].str() == config.workload + "-" + config.stage;
}

}  // namespace

fs::path folder_of_runs(const TrainRequest& request) {
  if (request.existing) return fs::absolute(request.existing->root).parent_path();
  return fs::absolute(request.loaded.config.config.run.folder);
}

std::string hash_of_request(const Json& words) {
  std::map<std::string, Json> sorted;
  for (const auto& [key, value] : words.items()) sorted[key] = value;
  return sha256(Json(sorted).dump(-1, ' ', false, Json::error_handler_t::replace));
}

RunFolder run_named(const TrainRequest& request, const std::string& name) {
  const auto& config = request.loaded.config.config;
  const std::string own = request.existing ? request.existing->root.filename().string() : config.run.name;
  const bool is_chosen = own == "auto" && is_new_name(name, config);
  if (name != own && !is_chosen) {
    fail(Exit::usage,
         text("the leader trains the run ", Json(name).dump(), ", and this host was asked for ", own),
         "start every agent with the same words");
  }
  return {folder_of_runs(request) / name};
}

int64_t resume_step_of(const RunFolder& folder, const std::optional<CheckpointEntry>& resume_from) {
  if (!resume_from) return StartTerms::from_nothing;
  std::error_code absent;
  const bool is_own =
      fs::equivalent(folder.checkpoints() / folder_name(resume_from->step), resume_from->folder, absent);
  return is_own ? resume_from->step : StartTerms::from_the_named;
}

RankCommand train_command(const TrainRequest& request, const RunFolder& folder, const StartTerms& terms,
                          const std::string& request_hash) {
  RankCommand command;
  command.arguments = request.program.words();
  ranks::Job job{.plan = plan_from_json(read_json(folder.plan()))};
  job.request = {{"run", folder.root.string()}, {"resume", resume_word(request, folder, terms.resume_step)}};
  command.job = to_text(job);
  // Without it MKL's products depend, on some CPUs, on where in memory their factors lie: a run that is gone
  // on with would not have the same bits.
  if (std::getenv("MKL_CBWR") == nullptr) command.environment["MKL_CBWR"] = "AUTO";
  constexpr double ms_in_a_second = 1000;
  command.environment["LARMOR_JOB_START"] = fixed(static_cast<double>(terms.began_at_ms) / ms_in_a_second, 3);
  if (terms.ends_at > 0) command.environment["LARMOR_JOB_END"] = text(terms.ends_at);
  command.log_folder = folder.logs();
  // What a host's own folders are called, and how its ranks speak, does not count.
  command.command_hash =
      sha256(text("train ", folder.root.filename().string(), " ", terms.resume_step, " ",
                  request.flags.steps.value_or(0), " ", request.flags.no_check, " ", request_hash));
  return command;
}

}  // namespace larmor::app

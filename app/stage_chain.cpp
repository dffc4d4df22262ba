#include "app/stage_chain.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/new_folder.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/folder_claim.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

/// The folders of the runs of all stages by that name, none of which has been there; nothing where one has.
std::vector<RunFolder> make_folders(const Workload& workload, const fs::path& runs, const std::string& name,
                                    Storage& storage) {
  std::vector<RunFolder> made;
  for (const auto& stage : workload.stages()) {
    const RunFolder folder{runs / text(name, "-", stage)};
    if (create_folder(folder.root)) {
      made.push_back(folder);
      continue;
    }
    for (const auto& other : made) remove_unbegun(other, storage);
    return {};
  }
  return made;
}

/// The same for the same words of a job, whenever it is started.
std::string name_of_job(const std::string& job, const std::string& workload, const VerbArguments& asked) {
  std::string place;
  for (const char letter : job) {
    const bool is_plain = (std::isalnum(static_cast<unsigned char>(letter)) != 0) || letter == '.' ||
                          letter == '_' || letter == '-';
    place += is_plain ? letter : '-';
  }
  std::string words = join(asked.configs, "\n");
  for (const auto& word : asked.overrides) {
    const auto key = word.substr(0, word.find('='));
    if (LoadedConfig::defines_the_run(key.substr(key.find(':') + 1))) words += text("\n", word);
  }
  constexpr size_t digits = 8;
  return text(place, "-", workload, "-", sha256(words).substr(0, digits));
}

}  // namespace

bool asks_for_every_stage(const VerbArguments& words) { return words.stage == "all"; }

StageChain::StageChain(Program& program, const Workload& workload, Runs runs, const ChainJob& job)
    : program_(program),
      workload_(workload),
      asked_(program.arguments()),
      words_(workload, asked_.overrides),
      runs_(runs),
      name_(words_.name()) {
  take_arguments_of(workload.stages().front());
  const auto config = program_.load_to_show(workload).config.config.run;
  runs_folder_ = config.folder;
  if (name_ == "auto") name_ = config.name;
  if (name_ != "auto" || runs == Runs::perhaps) return;
  if (runs == Runs::made) {
    name_new(job);
  } else {
    name_ = planned_run_name(SystemClock(), workload.name(), "");
  }
}

void StageChain::name_new(const ChainJob& job) {
  if (job.id.empty() && job.is_of_hosts) {
    fail(Exit::usage, "the hosts cannot agree on a name for the runs of --stage all, as no job tells of them",
         "say run.name=N, the same on every host");
  }
  const auto stem = job.id.empty() ? new_run_name(SystemClock(), workload_.name(), "")
                                   : name_of_job(job.id, workload_.name(), asked_);
  name_ = stem;
  if (job.is_of_hosts) return;
  program_.storage().create_folders(runs_folder_);
  const auto is_taken = [&] {
    return std::ranges::any_of(workload_.stages(),
                               [&](const auto& stage) { return fs::exists(run_of(stage).root); });
  };
  std::string newest;
  for (int number = 2;; ++number) {
    if (job.again && is_taken()) {
      newest = name_;
    } else if (!newest.empty()) {
      name_ = newest;
      return;
    } else if (claimed_ = make_folders(workload_, runs_folder_, name_, program_.storage());
               !claimed_.empty()) {
      return;
    }
    name_ = text(stem, "-", number);
  }
}

StageChain::~StageChain() {
  for (const auto& folder : claimed_) remove_unbegun(folder, program_.storage());
  program_.arguments() = asked_;
  program_.build_on(nullptr);
}

void StageChain::take_arguments_of(const std::string& stage) {
  program_.arguments() = asked_;
  program_.arguments().stage = stage;
  program_.arguments().overrides = words_.of(stage);
}

RunFolder StageChain::run_of(const std::string& stage) const {
  return {runs_folder_ / text(name_, "-", stage)};
}

bool StageChain::is_there(const std::string& stage) const {
  const RunFolder folder{folders_.at(stage)};
  return !folder.root.empty() && folder.is_done();
}

bool StageChain::has_kept(const std::string& stage) const {
  const auto run = run_of(stage);
  if (name_ == "auto" || runs_ == Runs::to_come || !run.is_run()) return false;
  const auto kept = kept_earlier(run);
  return std::ranges::all_of(workload_.named(stage).needs,
                             [&](const Need& need) { return kept.contains(need.stage); });
}

bool StageChain::can_begin_at(const std::string& stage) const {
  if (!has_kept(stage)) return false;
  const auto kept = kept_earlier(run_of(stage));
  const auto stages = workload_.stages();
  const auto here = std::ranges::find(stages, stage);
  // What stages to come need of those before this one is there, or comes with what this one has kept.
  return std::all_of(here + 1, stages.end(), [&](const auto& later) {
    const auto& needs = workload_.named(later).needs;
    const bool brings = std::ranges::any_of(needs, [&](const Need& need) { return need.stage == stage; });
    return std::ranges::all_of(needs, [&](const Need& need) {
      const bool is_before = std::find(stages.begin(), here, need.stage) != here;
      return !is_before || run_of(need.stage).is_done() || (brings && kept.contains(need.stage));
    });
  });
}

std::string StageChain::first_to_train() const {
  auto stages = workload_.stages();
  std::ranges::reverse(stages);
  const auto first = std::ranges::find_if(stages, [&](const auto& stage) { return can_begin_at(stage); });
  return first == stages.end() ? stages.back() : *first;
}

std::shared_ptr<const EarlierRuns> StageChain::before(const std::string& stage) const {
  const auto& needs = workload_.named(stage).needs;
  if (needs.empty()) return nullptr;
  // What a run has kept counts, whatever has become of the earlier ones.
  if (has_kept(stage))
    return std::make_shared<EarlierRuns>(workload_, needs,
                                         [run = run_of(stage)] { return kept_earlier(run); });
  if (runs_ == Runs::made) return nullptr;
  EarlierSources all;
  for (const auto& need : needs) {
    if (is_there(need.stage)) all.merge(find_earlier(workload_, need.stage, folders_.at(need.stage), ""));
  }
  for (const auto& [earlier, config] : configs_) {
    EarlierSource planned;
    planned.stage = earlier;
    planned.config = config;
    all.try_emplace(earlier, std::move(planned));
  }
  return std::make_shared<EarlierRuns>(workload_, needs, [all = std::move(all)] { return all; });
}

RunFolder StageChain::begin(const std::string& stage) {
  take_arguments_of(stage);
  auto& words = program_.arguments();
  const auto name = text(name_, "-", stage);
  if (name_ != "auto") words.overrides.push_back("run.name=" + name);
  for (const auto& need : workload_.named(stage).needs) {
    if (runs_ == Runs::perhaps && !is_there(need.stage)) continue;
    // One that is gone comes with what another one has kept.
    if (runs_ == Runs::made && !has_kept(stage) && !run_of(need.stage).is_run()) continue;
    words.overrides.push_back(text("from.", need.stage, "=", folders_.at(need.stage).string()));
  }
  program_.build_on(before(stage));
  words.quiet = true;  // the verb reads the config again, and says what there is to say of it
  const auto config = program_.load_to_show(workload_).config;
  words.quiet = asked_.quiet;
  auto& written = configs_[stage] = scratch_.path() / stage / "config.yaml";
  program_.storage().create_folders(written.parent_path());
  write_text(program_.storage(), written, config.to_yaml(/*with_origins=*/false));
  auto& folder = folders_[stage];
  if (name_ != "auto") folder = fs::path(config.config.run.folder) / name;
  return {folder};
}

namespace {

int act_on_stages(Program& program, const Workload& workload, const Program::Action& action) {
  StageChain chain(program, workload, StageChain::Runs::perhaps);
  int status = 0;
  for (const auto& stage : workload.stages()) {
    try {
      chain.begin(stage);
      const int own = action();
      if (status == 0) status = own;
    } catch (const Error& error) {
      throw error.within("stage " + stage);
    }
  }
  return status;
}

}  // namespace

int act_for_each_stage(Program& program, const Workload& workload, const Program::Action& action) {
  program.keep_shown(/*by_stage=*/true);
  int status = 0;
  try {
    status = act_on_stages(program, workload, action);
  } catch (const Error&) {
    program.show_kept();
    throw;
  }
  program.show_kept();
  return status;
}

void check_each_stage(Program& program, const Workload& workload, const Program::Action& action) {
  const bool was_quiet = std::exchange(program.arguments().quiet, true);
  program.keep_shown(/*by_stage=*/true);
  act_on_stages(program, workload, action);
  program.drop_shown();
  program.arguments().quiet = was_quiet;
}

}  // namespace larmor::app

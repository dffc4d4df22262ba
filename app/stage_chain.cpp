#include "app/stage_chain.h"

#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/new_folder.h"
#include "larmor/base/text.h"
#include "larmor/train/earlier_run.h"
#include "larmor/train/folder_claim.h"

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

}  // namespace

bool asks_for_every_stage(const VerbArguments& words) { return words.stage == "all"; }

StageChain::StageChain(Program& program, const Workload& workload, Runs runs)
    : program_(program),
      workload_(workload),
      asked_(program.arguments()),
      words_(workload, asked_.overrides),
      runs_(runs),
      name_(words_.name()) {
  take_words_of(workload.stages().front());
  const auto config = program_.load_to_show(workload).config.config.run;
  if (name_ == "auto") name_ = config.name;
  if (name_ != "auto" || runs == Runs::perhaps) return;
  const SystemClock clock;
  if (runs == Runs::to_come) {
    name_ = planned_run_name(clock, workload.name(), "");
    return;
  }
  const auto stem = new_run_name(clock, workload.name(), "");
  program_.storage().create_folders(config.folder);
  name_ = stem;
  for (int number = 2;; ++number) {
    claimed_ = make_folders(workload, config.folder, name_, program_.storage());
    if (!claimed_.empty()) return;
    name_ = text(stem, "-", number);
  }
}

StageChain::~StageChain() {
  for (const auto& folder : claimed_) remove_unbegun(folder, program_.storage());
  program_.arguments() = asked_;
  program_.build_on(nullptr);
}

void StageChain::take_words_of(const std::string& stage) {
  program_.arguments() = asked_;
  program_.arguments().stage = stage;
  program_.arguments().overrides = words_.of(stage);
}

bool StageChain::is_there(const std::string& stage) const {
  const RunFolder folder{folders_.at(stage)};
  return !folder.root.empty() && folder.is_done();
}

std::shared_ptr<const EarlierRuns> StageChain::before(const std::string& stage) const {
  const auto& needs = workload_.named(stage).needs;
  if (runs_ == Runs::made || needs.empty()) return nullptr;
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
  take_words_of(stage);
  auto& words = program_.arguments();
  const auto name = text(name_, "-", stage);
  if (name_ != "auto") words.overrides.push_back("run.name=" + name);
  for (const auto& need : workload_.named(stage).needs) {
    if (runs_ == Runs::perhaps && !is_there(need.stage)) continue;
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

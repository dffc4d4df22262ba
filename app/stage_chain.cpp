#include "app/stage_chain.h"

#include <algorithm>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/train/earlier_run.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

/// A name by which no stage has a run yet.
std::string new_name(const Workload& workload, const fs::path& runs) {
  const auto stem = text(utc_text(SystemClock().wall_seconds(), /*compact=*/true), "-", workload.name());
  const auto is_taken = [&](const std::string& name) {
    const auto stages = workload.stages();
    return std::any_of(stages.begin(), stages.end(),
                       [&](const auto& stage) { return fs::exists(runs / text(name, "-", stage)); });
  };
  auto name = stem;
  for (int number = 2; is_taken(name); ++number) name = text(stem, "-", number);
  return name;
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
  if (name_ == "auto" && runs != Runs::perhaps) name_ = new_name(workload, config.folder);
}

StageChain::~StageChain() {
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

int act_for_each_stage(Program& program, const Workload& workload, const Program::Action& action) {
  StageChain chain(program, workload, StageChain::Runs::perhaps);
  program.keep_shown(/*by_stage=*/true);
  int status = 0;
  for (const auto& stage : workload.stages()) {
    try {
      chain.begin(stage);
      const int own = action();
      if (status == 0) status = own;
    } catch (const Error& error) {
      program.show_kept();
      throw error.within("stage " + stage);
    }
  }
  program.show_kept();
  return status;
}

}  // namespace larmor::app

#include "app/train/train_stages.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/train/loaded_stage.h"

#include "app/say.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

/// `coder:train.length=9st`: of one stage, or of all that know the key where no stage is named.
struct StageWord {
  std::string stage, key, word;
};

StageWord parse_word(const std::string& word, const Workload& workload) {
  const auto key = word.substr(0, word.find('='));
  const auto colon = key.find(':');
  if (colon == std::string::npos) return {.stage = "", .key = key, .word = word};
  return {.stage = workload.named(key.substr(0, colon)).name,
          .key = key.substr(colon + 1),
          .word = word.substr(colon + 1)};
}

/// Whether the schema of a stage's config has the dotted key, be it a value's or a section's.
bool has_key(const Json& schema, const std::string& key) {
  const Json* here = &schema;
  for (const auto& name : split(key, '.')) {
    const auto properties = here->find("properties");
    if (properties == here->end() || !properties->contains(name)) return false;
    here = &properties->at(name);
  }
  return true;
}

/// The words of all stages, each given to those that they are meant for.
class StageWords {
 public:
  StageWords(const Workload& workload, const std::vector<std::string>& overrides) : workload_(workload) {
    for (const auto& stage : workload.stages()) {
      const auto made = workload.stage(stage);
      schemas_[stage] = config_schema(fields_of(workload, stage, *made));
    }
    for (const auto& override : overrides) add(parse_word(override, workload));
  }

  /// run.name; "auto" where no word says it.
  const std::string& name() const { return name_; }
  std::vector<std::string> of(const std::string& stage) const {
    std::vector<std::string> words;
    for (const auto& one : words_) {
      const bool is_meant =
          one.stage == stage ||
          (one.stage.empty() && has_key(schemas_.at(stage), one.key) && !has_own(stage, one.key));
      if (is_meant) words.push_back(one.word);
    }
    return words;
  }

 private:
  /// Whether a word names the stage with the key: it counts more than one for all.
  bool has_own(const std::string& stage, const std::string& key) const {
    return std::any_of(words_.begin(), words_.end(),
                       [&](const auto& one) { return one.stage == stage && one.key == key; });
  }
  void add(StageWord word) {
    if (word.key == "run.name" && word.stage.empty()) {
      name_ = word.word.substr(word.word.find('=') + 1);
      return;
    }
    if (word.key == "run.name" || word.key.starts_with("from."))
      fail(Exit::usage, text(word.key, " with --stage all, which names the runs and hands them on"),
           text("say run.name=N: the run of the stage ", workload_.stages().front(), " is then N-",
                workload_.stages().front()));
    const auto knows = [&](const auto& schema) { return has_key(schema.second, word.key); };
    // A key that no stage has is refused by the first, with the nearest one that there is.
    if (word.stage.empty() && std::none_of(schemas_.begin(), schemas_.end(), knows))
      word.stage = workload_.stages().front();
    words_.push_back(std::move(word));
  }

  const Workload& workload_;
  std::map<std::string, Json> schemas_;
  std::vector<StageWord> words_;
  std::string name_ = "auto";
};

void refuse_flags(const TrainFlags& flags) {
  const auto refuse = [](const char* flag, const char* remedy) {
    fail(Exit::usage, text(flag, " and --stage all do not go together"), remedy);
  };
  if (flags.dry_run) refuse("--dry-run", "name one stage: those after the first need its run");
  if (flags.resume != "auto") refuse("--resume", "name one stage; without it each goes on where it was");
  if (!flags.agents.nodes.empty())
    refuse("--nnodes", "train the stages one by one, each with from.<stage>=RUN");
}

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

class Chain {
 public:
  Chain(Program& program, const Workload& workload)
      : program_(program),
        workload_(workload),
        asked_(program.arguments()),
        words_(workload, asked_.overrides) {
    take_words_of(workload.stages().front());
    const auto config = program_.load_to_show(workload).config.config.run;
    name_ = words_.name() == "auto" ? config.name : words_.name();
    if (name_ == "auto") name_ = new_name(workload, config.folder);
  }
  ~Chain() { program_.arguments() = asked_; }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  int run(const std::function<int()>& train_stage) {
    const auto stages = workload_.stages();
    for (size_t i = 0; i < stages.size(); ++i) {
      const auto folder = begin(stages[i]);
      say(text("stage ", i + 1, " of ", stages.size(), ": ", stages[i], " (", folder.root.string(), ")"));
      const int status = train_stage();
      if (status == 0 && folder.is_done()) continue;
      say(text("ended in stage ", i + 1, " of ", stages.size(), ": ", stages[i],
               "; the same command with run.name=", name_, " goes on there"));
      return status;
    }
    return 0;
  }

 private:
  void say(const std::string& line) const {
    if (!asked_.quiet) app::say(line);
  }

  void take_words_of(const std::string& stage) {
    program_.arguments() = asked_;
    program_.arguments().stage = stage;
    program_.arguments().overrides = words_.of(stage);
  }

  /// Makes the program's words those of the stage's run, and gives its folder.
  RunFolder begin(const std::string& stage) {
    take_words_of(stage);
    auto& overrides = program_.arguments().overrides;
    const auto name = text(name_, "-", stage);
    overrides.push_back("run.name=" + name);
    for (const auto& need : workload_.named(stage).needs)
      overrides.push_back(text("from.", need.stage, "=", folders_.at(need.stage).string()));
    const fs::path runs = program_.load_to_show(workload_).config.config.run.folder;
    return {folders_[stage] = runs / name};
  }

  Program& program_;
  const Workload& workload_;
  const VerbArguments asked_;
  const StageWords words_;
  std::string name_;
  std::map<std::string, fs::path> folders_;
};

}  // namespace

bool asks_for_every_stage(const VerbArguments& words) { return words.stage == "all"; }

int train_every_stage(Program& program, const TrainFlags& flags, const std::function<int()>& train_stage) {
  refuse_flags(flags);
  const auto& workload = program.workload(program.arguments().target);
  program.keep_shown();
  Chain chain(program, workload);
  const int status = chain.run(train_stage);
  program.show_kept();
  return status;
}

}  // namespace larmor::app

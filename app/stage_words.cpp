#include "app/stage_words.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/run/loaded_stage.h"

namespace larmor::app {

namespace {

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

}  // namespace

StageWords::Word StageWords::parsed(const std::string& word, const Workload& workload) {
  const auto key = word.substr(0, word.find('='));
  const auto colon = key.find(':');
  if (colon == std::string::npos) return {.stage = "", .key = key, .word = word};
  return {.stage = workload.named(key.substr(0, colon)).name,
          .key = key.substr(colon + 1),
          .word = word.substr(colon + 1)};
}

StageWords::StageWords(const Workload& workload, const std::vector<std::string>& overrides)
    : workload_(workload) {
  for (const auto& stage : workload.stages()) {
    const auto made = workload.stage(stage);
    schemas_[stage] = config_schema(fields_of(workload, stage, *made));
  }
  for (const auto& override : overrides) add(parsed(override, workload));
}

std::vector<std::string> StageWords::of(const std::string& stage) const {
  std::vector<std::string> words;
  for (const auto& one : words_) {
    const bool is_meant = one.stage == stage || (one.stage.empty() && has_key(schemas_.at(stage), one.key) &&
                                                 !has_own(stage, one.key));
    if (is_meant) words.push_back(one.word);
  }
  return words;
}

bool StageWords::has_own(const std::string& stage, const std::string& key) const {
  return std::any_of(words_.begin(), words_.end(),
                     [&](const auto& one) { return one.stage == stage && one.key == key; });
}

void StageWords::add(Word word) {
  if (word.key == "run.name" && word.stage.empty()) {
    name_ = word.word.substr(word.word.find('=') + 1);
    return;
  }
  const bool is_of_one = !word.stage.empty() && (word.key == "from.run" || word.key == "from.optimizer");
  if (word.key == "from.run" && word.stage.empty()) {
    fail(Exit::usage, text(word.word, " with --stage all is of one stage"),
         text("say which: ", workload_.stages().front(), ":", word.word));
  }
  if (word.key == "run.name" || (word.key.starts_with("from.") && !is_of_one))
    fail(Exit::usage, text(word.key, " with --stage all, which names the runs and hands them on"),
         text("say run.name=N: the run of the stage ", workload_.stages().front(), " is then N-",
              workload_.stages().front()));
  const auto knows = [&](const auto& schema) { return has_key(schema.second, word.key); };
  // A key that no stage has is refused by the first, with the nearest one that there is.
  if (word.stage.empty() && std::none_of(schemas_.begin(), schemas_.end(), knows))
    word.stage = workload_.stages().front();
  words_.push_back(std::move(word));
}

}  // namespace larmor::app

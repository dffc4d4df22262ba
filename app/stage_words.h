// The key=value words of a call for several stages: `train.length=9st` is for all that know the key,
// `coder:train.length=9st` for one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/task/workload.h"

namespace larmor::app {

/// Borrows the workload.
class StageWords {
 public:
  /// Throws Error (usage): a stage that is not there, words that name the runs of single stages.
  StageWords(const Workload& workload, const std::vector<std::string>& overrides);

  /// run.name; "auto" where no word says it.
  const std::string& name() const { return name_; }
  std::vector<std::string> of(const std::string& stage) const;

 private:
  struct Word {
    std::string stage, key, word;
  };
  static Word parsed(const std::string& word, const Workload& workload);
  /// Whether a word names the stage with the key: it counts more than one for all.
  bool has_own(const std::string& stage, const std::string& key) const;
  void add(Word word);

  const Workload& workload_;
  std::map<std::string, Json> schemas_;
  std::vector<Word> words_;
  std::string name_ = "auto";
};

}  // namespace larmor::app

// Runs of the stages of the toy (tests/toy/workload.h), one by one or all of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"
#include "tests/processes/support/toy_program.h"

namespace larmor::testing {

class Stages : public ::testing::Test {
 protected:
  Finished call(std::vector<std::string> words, std::map<std::string, std::string> environment = {}) const {
    return larmor_program(
        std::move(words),
        {.folder = scratch_.path(), .environment = std::move(environment), .program = toy_program()});
  }
  /// Of a short training on one rank, behind its verb. A word of `more` goes before one of the same key.
  static std::vector<std::string> words_of(const std::string& stage, std::vector<std::string> more) {
    std::vector<std::string> words{"toy", "--stage", stage, "-c", "tiny"};
    for (const auto* word : {"train.length=4st", "train.validate_every=2st", "checkpoint.every=2st",
                             "optim.schedule.warmup=0"}) {
      const std::string key(word, std::strchr(word, '=') + 1);
      if (std::ranges::none_of(more, [&](const auto& other) { return other.starts_with(key); }))
        words.emplace_back(word);
    }
    if (std::ranges::find(more, "--ranks") == more.end()) words.insert(words.end(), {"--ranks", "1"});
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Finished train(const std::string& stage, std::vector<std::string> more) const {
    auto words = words_of(stage, std::move(more));
    words.insert(words.begin(), "train");
    return call(words);
  }
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  void train_coder(const std::string& name = "coder") const {
    const auto end = train("coder", {"run.name=" + name});
    ASSERT_EQ(end.status, 0) << end.err;
  }

  ScratchFolder scratch_;
};

class AllStages : public Stages {
 protected:
  Finished chain(std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"run.name=toys", "coder:train.length=6st", "refiner:model.channels=5"};
    words.insert(words.end(), more.begin(), more.end());
    return train("all", words);
  }
  std::string weights(const std::string& stage) const {
    return read_text(run("toys-" + stage) / "checkpoints" / "last" / "model.safetensors");
  }
};

}  // namespace larmor::testing

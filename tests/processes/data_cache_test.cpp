// Training from each kind of cache: the same numbers, and SmartCache's schedule continued by a resumed run.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

constexpr int patients = 12, steps = 12;

class DataCache : public ::testing::Test {
 protected:
  void SetUp() override { put_heads(scratch_.path() / "heads", patients); }

  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }

  std::vector<std::string> words(const std::string& name, const std::string& cache, int ranks) const {
    auto words = small_training(name, ranks, steps);
    std::erase_if(words, [](const std::string& word) { return word.starts_with("data.phantom"); });
    for (const char* const more : {"data.kind=nifti", "data.folder=heads", "data.cache_folder=store"})
      words.emplace_back(more);
    words.push_back("data.cache=" + cache);
    return words;
  }

  Finished call(const std::vector<std::string>& words) const {
    return larmor_program(words, {.folder = scratch_.path()});
  }

  TrainedState train(const std::string& name, const std::string& cache, int ranks) const {
    const auto end = call(words(name, cache, ranks));
    EXPECT_EQ(end.status, 0) << end.err;
    return trained_state(run(name));
  }

  ScratchFolder scratch_;
};

TEST_F(DataCache, ChangesNoNumber) {
  for (const int ranks : {1, 2}) {
    const auto of = [&](const std::string& cache) {
      return train(cache + std::to_string(ranks), cache, ranks);
    };
    EXPECT_EQ(of("full").steps, of("none").steps) << ranks << " ranks";
  }
  EXPECT_TRUE(std::filesystem::exists(scratch_.path() / "store"));
}

TEST_F(DataCache, SmartCacheGoesOnWhereItStopped) {
  for (const int ranks : {1, 2}) {
    const auto name = "broken" + std::to_string(ranks);
    const auto whole = train("whole" + std::to_string(ranks), "smart", ranks);
    auto first = words(name, "smart", ranks);
    first.insert(first.end(), {"--steps", "5"});
    ASSERT_EQ(call(first).status, 0);
    ASSERT_EQ(call({"train", name}).status, 0);
    EXPECT_EQ(trained_state(run(name)).steps, whole.steps) << ranks << " ranks";
    EXPECT_EQ(trained_state(run(name)).files, whole.files) << ranks << " ranks";
  }
  // 9 or 10 of 12 patients train, so a window of half of them is what an epoch shows.
  const auto last = events_of(run("whole1"), "step").back();
  const double epoch = last.at("examples").get<double>() / last.at("epoch").get<double>();
  EXPECT_GE(epoch, 4);
  EXPECT_LE(epoch, 5);
}

}  // namespace
}  // namespace larmor::testing

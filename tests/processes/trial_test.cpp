// `train --try`: every phase of a run once, and nothing of it stays.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/every_stage.h"
#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2;
constexpr double most_seconds = 60;

class Trial : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path(); }
  Finished call(Words words, const std::string& fault = "") const {
    std::map<std::string, std::string> environment{{"XDG_CACHE_HOME", (folder() / "cache").string()},
                                                   {"TMPDIR", (folder() / "tmp").string()}};
    if (!fault.empty()) environment["LARMOR_FAULT"] = fault;
    fs::create_directories(folder() / "tmp");
    return larmor_program(std::move(words), {.folder = folder(), .environment = environment});
  }
  /// Beside what is kept of the machine.
  std::set<fs::path> files() const {
    std::set<fs::path> all;
    for (const auto& item : fs::recursive_directory_iterator(folder())) {
      const auto path = item.path().lexically_relative(folder()).string();
      if (!path.starts_with("cache")) all.insert(path);
    }
    return all;
  }
  static Words with(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

 private:
  ScratchFolder scratch_;
};

// The other stages: trial_long_test.cpp.
TEST_F(Trial, GoesThroughEveryPhaseOfEachWorkloadsLastStageWithinAMinuteAndLeavesNothing) {
  fs::create_directories(folder() / "tmp");
  const auto stages = words_of_every_stage(folder());
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto& words = stages[i];
    const bool is_last = i + 1 == stages.size() || stages[i + 1].front() != words.front();
    if (!is_last) continue;
    const auto before = files();
    auto asked = words;
    asked.insert(asked.begin(), "train");
    const auto end = call(with(asked, {"--try", "--json"}));
    ASSERT_EQ(end.status, 0) << join(words, " ") << '\n' << end.err;
    const auto said = end.json();
    Words phases;
    for (const auto& phase : said["phases"]) phases.push_back(phase["phase"]);
    EXPECT_THAT(phases,
                ElementsAre("index", "plan", "prepare", "steps", "validate", "save", "resume", "predict"));
    EXPECT_GT(said["step_ms"].get<double>(), 0) << join(words, " ");
    EXPECT_GE(said["steps"], 200) << join(words, " ");
    EXPECT_LT(said["trial_seconds"].get<double>(), most_seconds) << join(words, " ");
    EXPECT_EQ(files(), before) << join(words, " ");
  }
}

TEST_F(Trial, OfOnesOwnFilesPredictsOneOfThem) {
  put_heads(folder() / "heads", 8);
  const auto end = call({"train", "latent_diffusion", "data.kind=nifti", "data.folder=heads", "-c", "small",
                         "data.cache=full", "--ranks", "2", "--try"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("  prepare"), HasSubstr("  predict")));
  EXPECT_THAT(end.out, AllOf(HasSubstr("the whole run: about 5"), HasSubstr("of prepared images")));
  EXPECT_FALSE(fs::exists(folder() / "runs"));
}

TEST_F(Trial, IsWhatThePlanShowsFromThenOn) {
  const Words words{"latent_diffusion", "-c", "tiny"};
  EXPECT_THAT(call(with({"plan"}, words)).out, Not(HasSubstr("measured on")));
  const auto tried = call(with(with({"train"}, words), {"--try", "--json"}));
  ASSERT_EQ(tried.status, 0) << tried.err;
  EXPECT_THAT(call(with({"plan"}, words)).out, AllOf(HasSubstr("measured on 20"), HasSubstr(" ms a step")));
  EXPECT_EQ(call(with(with({"plan"}, words), {"--json"})).json()["measured"]["step_ms"],
            tried.json()["step_ms"]);
  EXPECT_THAT(call(with(with({"plan"}, words), {"train.global_batch=2"})).out, Not(HasSubstr("measured on")));
}

TEST_F(Trial, ThatFailsSaysInWhichPhaseAndKeepsItsRun) {
  for (const auto* fault : {"rank=0 phase=computing do=exit", "rank=0 phase=saving do=exit"}) {
    const auto end = call({"train", "latent_diffusion", "-c", "tiny", "--try"}, fault);
    EXPECT_EQ(end.status, 1) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("the trial ended in the phase steps, validate, save"),
                               HasSubstr("its run is kept in ")));
    const auto place = std::string(trim(end.err.substr(end.err.rfind("kept in ") + 8)));
    EXPECT_TRUE(fs::exists(fs::path(place) / "events.jsonl")) << place;
  }
}

TEST_F(Trial, RefusesWordsThatItCannotHave) {
  const Words words{"train", "latent_diffusion", "-c", "tiny", "--try"};
  for (const auto& more :
       std::vector<Words>{{"--stage", "all"}, {"--steps", "3"}, {"--dry-run"}, {"--nnodes", "2"}}) {
    const auto end = call(with(words, more));
    EXPECT_EQ(end.status, usage) << join(more, " ") << '\n' << end.err;
    EXPECT_THAT(end.err,
                AllOf(HasSubstr("--try and "), HasSubstr("do not go together"), HasSubstr("hint: ")));
  }
  EXPECT_EQ(call({"train", "runs/none", "--try"}).status, usage);
}

}  // namespace
}  // namespace larmor::testing

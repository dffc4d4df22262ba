// What a shell completes once it has read the script of `larmor completion`.
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr const char* bash = "/usr/bin/bash";

class Completion : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!std::filesystem::exists(bash)) return;
    const auto end = larmor_program({"completion", "bash"});
    ASSERT_EQ(end.status, 0) << end.err;
    scratch_ = std::make_unique<ScratchFolder>();
    put_file(folder() / "larmor.bash", end.out);
    for (const char* const run : {"runs/first", "runs/second"}) put_file(folder() / run / "config.yaml", "");
    std::filesystem::create_directories(folder() / "runs" / "of-something-else");
  }
  static void TearDownTestSuite() { scratch_.reset(); }
  void SetUp() override {
    if (!std::filesystem::exists(bash)) GTEST_SKIP() << "no bash";
  }

  /// What is offered for the last of the words, which is being typed.
  static Words offered(const Words& words) {
    std::string line = "source ./larmor.bash; COMP_WORDS=(larmor";
    for (const auto& word : words) line += text(" '", word, "'");
    line += text("); COMP_CWORD=", words.size(), "; _larmor; printf '%s\\n' \"${COMPREPLY[@]}\"");
    const auto end = larmor_program({"-u", "-c", line}, {.folder = folder(), .program = bash});
    EXPECT_EQ(end.status, 0) << join(words, " ") << '\n' << end.err;
    std::istringstream lines(end.out);
    Words all;
    for (std::string one; std::getline(lines, one);) {
      if (!one.empty()) all.push_back(one);
    }
    return all;
  }
  static std::filesystem::path folder() { return scratch_->path(); }

 private:
  inline static std::unique_ptr<ScratchFolder> scratch_;
};

TEST_F(Completion, KnowsTheVerbsAndThoseBelowThem) {
  EXPECT_THAT(offered({"tr"}), ElementsAre("train"));
  EXPECT_THAT(offered({""}), IsSupersetOf({"list", "init", "train", "predict", "completion"}));
  EXPECT_THAT(offered({"checkpoint", "p"}), ElementsAre("prune", "pin"));
}

TEST_F(Completion, KnowsEveryFlagOfEachVerb) {
  EXPECT_THAT(offered({"train", "survival", "--max"}), ElementsAre("--max-restarts"));
  EXPECT_THAT(offered({"job", "slurm", "survival", "--gpus"}), ElementsAre("--gpus-per-node"));
  EXPECT_THAT(offered({"list", "--max"}), IsEmpty());
}

TEST_F(Completion, KnowsWorkloadsRunsAndFilesWhereTheVerbTakesThem) {
  EXPECT_THAT(offered({"train", "s"}), AllOf(Contains("survival"), Contains("second")));
  EXPECT_THAT(offered({"evaluate", ""}),
              AllOf(Contains("first"), Contains("second"), Not(Contains("of-something-else")),
                    Not(Contains("survival"))));
  EXPECT_THAT(offered({"inspect", "larm"}), ElementsAre("larmor.bash"));
}

TEST_F(Completion, KnowsStagesConfigsAndKeysOfTheWorkloadThatIsNamed) {
  EXPECT_THAT(offered({"train", "xray_to_ct", "--stage", "s"}), ElementsAre("stage1", "stage2", "stage3"));
  EXPECT_THAT(offered({"plan", "survival", "-c", "ti"}), ElementsAre("tiny"));
  EXPECT_THAT(offered({"train", "survival", "optim.lear"}), ElementsAre("optim.learning_rate="));
  EXPECT_THAT(offered({"train", "survival", "optim.learning_rate"}), ElementsAre("optim.learning_rate="));
}

TEST_F(Completion, KnowsTheWordsThatAKeyMayHave) {
  EXPECT_THAT(offered({"train", "survival", "train.precision", "=", "b"}), ElementsAre("bf16"));
  EXPECT_THAT(offered({"train", "survival", "train.precision=b"}), ElementsAre("train.precision=bf16"))
      << "zsh does not part a word at =";
  EXPECT_THAT(offered({"train", "survival", "checkpoint.async", "="}), ElementsAre("true", "false"));
  EXPECT_THAT(offered({"train", "survival", "data.folder", "=", "run"}), ElementsAre("runs"));
}

TEST_F(Completion, IsRefusedForAShellThatItDoesNotKnow) {
  const auto end = larmor_program({"completion", "tcsh"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("there is no completion for tcsh"), HasSubstr("larmor completion bash")));
}

}  // namespace
}  // namespace larmor::testing

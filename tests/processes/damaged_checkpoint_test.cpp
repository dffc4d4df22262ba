// Checkpoints that are not what they were: an older good one is taken, or the run says that there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int damaged = 7;

class DamagedCheckpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    auto words = small_training("mine", 1, 12);
    words.insert(words.end(), {"--steps", "8"});
    ASSERT_EQ(call(words).status, 0);
    ASSERT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000008"));
  }
  Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = scratch_.path()});
  }
  std::filesystem::path run() const { return scratch_.path() / "runs" / "mine"; }
  std::filesystem::path checkpoint(const std::string& name) const { return run() / "checkpoints" / name; }

  void flip_a_bit(const std::string& name, const std::string& file) const {
    auto bytes = read_text(checkpoint(name) / file);
    bytes[bytes.size() / 2] ^= 0x04;
    put_file(checkpoint(name) / file, bytes);
  }
  /// One error with what, where and what to do; the run is neither over nor poorer.
  void expect_refusal(const Finished& end, const std::vector<std::string>& words) const {
    EXPECT_EQ(end.status, damaged) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("larmor: "), HasSubstr("\n  hint: ")));
    for (const auto& word : words) EXPECT_THAT(end.err, HasSubstr(word));
    EXPECT_THAT(checkpoint_names(run()), ElementsAre("step-00000004", "step-00000008"));
    EXPECT_FALSE(std::filesystem::exists(run() / "DONE"));
  }

  ScratchFolder scratch_;
};

TEST_F(DamagedCheckpoint, OfAnyOfItsFilesIsPassedOverForTheOlderGoodOne) {
  for (const char* file : {"manifest.json", "state.json", "model.safetensors"}) {
    const auto copy = scratch_.path() / "runs" / "copy";
    std::filesystem::remove_all(copy);
    flip_a_bit("step-00000008", file);
    std::filesystem::copy(
        run(), copy, std::filesystem::copy_options::recursive | std::filesystem::copy_options::copy_symlinks);
    const auto end = call({"train", copy.string()});
    EXPECT_EQ(end.status, 0) << file << "\n" << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("passed over the damaged checkpoint"), HasSubstr("step-00000008"),
                               HasSubstr("resuming from step 4")));
    EXPECT_TRUE(std::filesystem::exists(copy / "DONE"));
    flip_a_bit("step-00000008", file);
  }
}

TEST_F(DamagedCheckpoint, IsRefusedWhenItIsTheOneAskedFor) {
  flip_a_bit("step-00000008", "model.safetensors");
  expect_refusal(call({"train", "mine", "--resume", checkpoint("step-00000008").string()}),
                 {"step-00000008", "model.safetensors"});
  expect_refusal(call({"checkpoint", "verify", "mine"}), {"1 of 2 checkpoints"});
}

TEST_F(DamagedCheckpoint, ThatIsNotThereIsNamed) {
  expect_refusal(call({"train", "mine", "--resume", "no/such"}), {"no/such", "there is no such folder"});
}

TEST_F(DamagedCheckpoint, LeavesNothingToGoOnFromWhenAllAre) {
  flip_a_bit("step-00000004", "state.json");
  flip_a_bit("step-00000008", "model.safetensors");
  expect_refusal(call({"train", "mine"}), {"none of the 2 checkpoints", "runs/mine/checkpoints"});
  EXPECT_EQ(call({"train", "mine", "--resume", "never"}).status, 0) << "starting anew is a choice";
  EXPECT_FALSE(std::filesystem::is_empty(run() / "checkpoints.before-1")) << "and moves them aside";
}

TEST_F(DamagedCheckpoint, AGoodOneMayBeNamedByItsLink) {
  const auto end = call({"train", "mine", "--resume", checkpoint("last").string()});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("resuming from step 8"));
}

}  // namespace
}  // namespace larmor::testing

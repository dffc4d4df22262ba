// Disks that are full, cannot be written, or are no folder at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_disk.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int environment = 4;

/// Saves after 20, 40, 60 and 80 steps.
std::vector<std::string> training_with_four_saves() {
  return {"train",
          "latent_diffusion",
          "-c",
          "tiny",
          "run.name=mine",
          "--ranks",
          "1",
          "train.length=80st",
          "checkpoint.every=20st",
          "train.validate_every=0",
          "track.pictures_every=0",
          "track.tensorboard=false"};
}

class BadPlace : public ::testing::Test {
 protected:
  std::filesystem::path run() const { return folder() / "runs" / "mine"; }
  bool has_checkpoint(const char* name) const {
    return std::filesystem::exists(run() / "checkpoints" / name / "manifest.json");
  }
  std::filesystem::path folder() const { return scratch_.path(); }
  Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  ScratchFolder scratch_;
};

TEST_F(BadPlace, ARunFolderThatIsAFileIsNamed) {
  put_file(folder() / "runs" / "mine", "a file");
  const auto end = call(small_training("mine", 1, 12));
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr("runs/mine is not a folder"));
}

TEST_F(BadPlace, AFolderForRunsThatCannotBeWrittenIsNamedBeforeARankStarts) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  disk.make_read_only();
  const auto end = call(small_training("mine", 1, 12));
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr("runs/mine"));
}

TEST_F(BadPlace, ADiskThatIsFullAtTheStartIsNamed) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  disk.fill();
  const auto words = small_training("mine", 1, 12);
  const auto end = call(words);
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("runs/mine"), HasSubstr("; 0 B are free")));
  auto unchecked = words;
  unchecked.emplace_back("--no-check");
  EXPECT_THAT(call(unchecked).err,
              AllOf(HasSubstr("runs/mine"), HasSubstr("No space left"), HasSubstr("hint: free space")));
  disk.empty();
  const auto again = call(small_training("mine", 1, 12));
  EXPECT_EQ(again.status, 0) << "with room the same words start the run\n" << again.err;
}

TEST_F(BadPlace, AStartThatRanOutOfSpaceHalfWayCanBeRepeated) {
  for (const size_t pages : {2, 4, 6, 8}) {
    const SmallDisk disk(folder() / "runs", "size=16m");
    if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
    disk.fill(pages);
    auto words = small_training("mine", 1, 12);
    words.emplace_back("--no-check");  // otherwise it would not begin
    EXPECT_EQ(call(words).status, environment) << pages << " pages";
    disk.empty();
    const auto again = call(small_training("mine", 1, 12));
    EXPECT_EQ(again.status, 0) << pages << " pages\n" << again.err;
  }
}

TEST_F(BadPlace, ADiskWithoutRoomForTheCheckpointsIsRefusedBeforeTheRunBegins) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  auto words = training_with_four_saves();
  words.insert(words.end(), {"--steps", "1"});
  ASSERT_EQ(call(words).status, 0);
  const auto checkpoint = call({"checkpoint", "list", "mine", "--json"}).json()[0]["bytes"].get<size_t>();
  ASSERT_EQ(call({"runs", "--remove", "mine"}).status, 0);
  words = training_with_four_saves();
  disk.fill(checkpoint * 2 / 4096);
  const auto refused = call(words);
  EXPECT_EQ(refused.status, environment) << refused.err;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("there is no room for at least "), HasSubstr("runs/mine/checkpoints"),
                    HasSubstr(" are free"), HasSubstr("checkpoint.keep_last=1"),
                    HasSubstr("run.folder=FOLDER"), HasSubstr("--no-check")));
  EXPECT_FALSE(std::filesystem::exists(run())) << "nothing has begun";
  words.emplace_back("--no-check");
  words.insert(words.end(), {"--steps", "2"});
  const auto gone_on = call(words);
  EXPECT_THAT(gone_on.err, HasSubstr("there is no room for at least "));
  EXPECT_EQ(gone_on.status, 0) << "for this one save there is room\n" << gone_on.err;
  disk.fill(checkpoint * 5 / 2 / 4096);
  const auto close = call({"train", "mine", "--steps", "4"});
  EXPECT_EQ(close.status, 0) << close.err;
  EXPECT_THAT(close.err, HasSubstr("there is little room for up to "));
}

TEST_F(BadPlace, AFileInPlaceOfTheFolderForRunsIsNamed) {
  put_file(folder() / "runs", "a file");
  const auto end = call(small_training("mine", 1, 12));
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("runs"), HasSubstr("hint: a file stands where a folder is meant")));
}

TEST_F(BadPlace, ARunThatCannotBeWrittenAnyMoreStaysAsItIs) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  auto words = small_training("mine", 1, 12);
  words.insert(words.end(), {"--steps", "5"});
  ASSERT_EQ(call(words).status, 0);
  disk.make_read_only();
  const auto end = call({"train", "mine"});
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("runs/mine"), HasSubstr("Read-only file system"), HasSubstr("hint: ")));
  EXPECT_EQ(call({"checkpoint", "verify", "mine"}).status, 0);
}

TEST_F(BadPlace, ADiskThatFillsUpCostsOneSaveWhenThereIsRoomForTheNext) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  Running training(training_with_four_saves(), {.folder = folder()});
  ASSERT_TRUE(becomes_true([&] { return has_checkpoint("step-00000020"); }, 60)) << training.err();
  disk.fill();
  const auto is_told = [&] {
    return training.err().find("the checkpoint was not saved") != std::string::npos;
  };
  EXPECT_TRUE(becomes_true(is_told, 60)) << training.err();
  disk.empty();
  const auto end = training.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_FALSE(has_checkpoint("step-00000040"));
  EXPECT_TRUE(has_checkpoint("step-00000080"));
  EXPECT_EQ(call({"checkpoint", "verify", "mine"}).status, 0);
}

TEST_F(BadPlace, ADiskThatIsFullAtTheLastSaveEndsTheRunAndKeepsTheEarlierCheckpoints) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  Running training(training_with_four_saves(), {.folder = folder()});
  ASSERT_TRUE(becomes_true([&] { return has_checkpoint("step-00000040"); }, 60)) << training.err();
  disk.fill();
  const auto end = training.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("checkpoint of step 80 could not be saved"), HasSubstr("free"),
                             HasSubstr("hint: ")));
  EXPECT_FALSE(std::filesystem::exists(run() / "DONE"));
  EXPECT_TRUE(has_checkpoint("step-00000040"));
  EXPECT_EQ(call({"checkpoint", "verify", "mine"}).status, 0);
  disk.empty();
  EXPECT_EQ(call({"train", "mine"}).status, 0) << "with room again it goes on";
  EXPECT_TRUE(has_checkpoint("step-00000080"));
}

TEST_F(BadPlace, ADiskThatIsFullAtTheEndKeepsTheEarlierCheckpoints) {
  const SmallDisk disk(folder() / "runs", "size=16m");
  if (!disk.is_there()) GTEST_SKIP() << "mounting a small disk takes root";
  auto words = small_training("mine", 1, 12);
  words.insert(words.end(), {"--steps", "5"});
  ASSERT_EQ(call(words).status, 0);
  const auto before = checkpoint_names(folder() / "runs" / "mine");
  disk.fill();
  const auto end = call({"train", "mine"});
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_EQ(call({"checkpoint", "verify", "mine"}).status, 0);
  EXPECT_EQ(checkpoint_names(folder() / "runs" / "mine"), before);
  disk.empty();
  EXPECT_EQ(call({"train", "mine"}).status, 0) << "with room again it goes on";
}

}  // namespace
}  // namespace larmor::testing

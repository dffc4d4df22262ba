#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

class TwoCheckpoints : public ::testing::Test {
 protected:
  TwoCheckpoints() {
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter writer(scratch.path(), disk, *solo, saved_at_once());
    writer.save(small_snapshot(1), false);
    writer.save(small_snapshot(2), false);
  }
  const ScratchFolder scratch;
};

TEST_F(TwoCheckpoints, AreFoundDamagedAtEveryFlippedBit) {
  const auto folder = scratch.path() / "step-00000002";
  for (const auto* name : {"manifest.json", "state.json", "model.safetensors"}) {
    const auto bytes = std::filesystem::file_size(folder / name);
    for (uint64_t byte = 0; byte < bytes; ++byte) {
      flip_bit(folder / name, byte, static_cast<int>(byte % 8));
      EXPECT_FALSE(verify_checkpoint(folder).ok) << name << ", byte " << byte;
      flip_bit(folder / name, byte, static_cast<int>(byte % 8));
    }
  }
  EXPECT_TRUE(verify_checkpoint(folder).ok);
}

TEST_F(TwoCheckpoints, FallBackToTheOlderOneAndSayWhy) {
  std::filesystem::resize_file(scratch.path() / "step-00000002" / "model.safetensors", 40);
  std::vector<CheckpointEntry> passed_over;
  const auto newest = newest_good(scratch.path(), &passed_over);
  ASSERT_TRUE(newest.has_value());
  EXPECT_TRUE(holds_step(*newest, 1));
  ASSERT_EQ(passed_over.size(), 1U);
  EXPECT_NE(passed_over[0].reason.find("model.safetensors has 40 bytes"), std::string::npos)
      << passed_over[0].reason;
}

TEST_F(TwoCheckpoints, AreReadByTheHashesThatTheirManifestsList) {
  const auto entry = newest_good(scratch.path(), nullptr).value();
  flip_bit(entry.folder / "model.safetensors",
           std::filesystem::file_size(entry.folder / "model.safetensors") - 1, 0);
  try {
    read_checkpoint_file(entry, "model.safetensors");
    FAIL() << "weights that changed after the check were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
    EXPECT_NE(std::string(error.what()).find("other bytes than the manifest"), std::string::npos)
        << error.what();
  }
}

TEST_F(TwoCheckpoints, AreRefusedWhenNoneIsGood) {
  for (const auto* folder : {"step-00000001", "step-00000002"})
    std::filesystem::remove(scratch.path() / folder / "state.json");
  try {
    newest_good(scratch.path(), nullptr);
    FAIL() << "a damaged checkpoint was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::checkpoint);
  }
}

TEST_F(TwoCheckpoints, AreNotConfusedByUnfinishedOnes) {
  std::filesystem::create_directory(scratch.path() / "step-00000009.gen-0.tmp");
  std::filesystem::create_directory(scratch.path() / ".trash-step-00000003");
  EXPECT_EQ(list_checkpoints(scratch.path(), false).size(), 2U);
}

TEST(Catalogue, OfAnEmptyFolderHasNoNewest) {
  const ScratchFolder scratch;
  EXPECT_FALSE(newest_good(scratch.path(), nullptr).has_value());
  EXPECT_FALSE(newest_good(scratch.path() / "absent", nullptr).has_value());
}

}  // namespace
}  // namespace larmor::testing

#include "larmor/checkpoint/whole_checkpoints.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/checkpoint/manifest.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

class Remembered : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter(scratch_.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);
  }
  std::filesystem::path folder() const { return scratch_.path() / "step-00000001"; }
  std::filesystem::path model() const { return folder() / model_name; }
  /// Damage that shows neither in size nor in times: what a disk does by itself.
  void rot() const {
    struct stat before{};
    ::stat(model().c_str(), &before);
    flip_bit(model(), 100, 3);
    const timespec times[] = {before.st_atim, before.st_mtim};
    ::utimensat(AT_FDCWD, model().c_str(), times, 0);
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(Remembered, AreNotReadAgainWhileTheyLookTheSame) {
  WholeCheckpoints whole;
  EXPECT_FALSE(whole.knows(folder()));
  EXPECT_TRUE(whole.verify(folder()).ok);
  EXPECT_TRUE(whole.knows(folder()));
  // Unreadable for anybody who would read it, and the same to look at.
  auto seen = verify_checkpoint(folder());
  ASSERT_FALSE(seen.look.empty());
  seen.ok = false;
  seen.reason = "an answer that nobody would get by reading";
  whole.remember(seen);
  EXPECT_EQ(whole.verify(folder()).reason, seen.reason);
  EXPECT_FALSE(whole.knows(folder()));
}

TEST_F(Remembered, AreReadAgainWhenAFileHasBeenWrittenTo) {
  WholeCheckpoints whole;
  ASSERT_TRUE(whole.verify(folder()).ok);
  rot();  // the time of change is not anybody's to set
  EXPECT_FALSE(whole.knows(folder()));
  EXPECT_FALSE(whole.verify(folder()).ok);
  flip_bit(model(), 100, 3);
  EXPECT_TRUE(whole.verify(folder()).ok) << "mended";
}

TEST_F(Remembered, AreThoseThatWereWrittenButNotWhereAFileIsNotThere) {
  WholeCheckpoints whole;
  const auto manifest = open_manifest(folder());
  whole.remember_written(folder(), manifest);
  EXPECT_TRUE(whole.knows(folder()));
  whole.forget(folder());
  EXPECT_FALSE(whole.knows(folder()));
  std::filesystem::remove(model());
  whole.remember_written(folder(), manifest);
  EXPECT_FALSE(whole.knows(folder()));
  EXPECT_FALSE(whole.verify(folder()).ok);
}

}  // namespace
}  // namespace larmor::testing

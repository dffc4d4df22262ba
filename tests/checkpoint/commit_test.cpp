// Whatever fails while a checkpoint is saved, the newest announced one loads.
#include <sys/wait.h>

#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

using Operation = FaultyStorage::Operation;

// Every operation and point of saving step 2 after step 1, by number.
std::vector<Operation> operations_of_a_save() {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);
  FaultyStorage recording([](const Operation&) {});
  CheckpointWriter(scratch.path(), recording, *solo, saved_at_once()).save(small_snapshot(2), false);
  return recording.operations();
}

TEST(Commit, LosesNothingAnnouncedWhenAnyOperationFails) {
  const auto operations = operations_of_a_save();
  ASSERT_GT(operations.size(), 15U);
  for (size_t broken = 0; broken < operations.size(); ++broken) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);

    size_t number = 0;
    FaultyStorage storage([&](const Operation& operation) {
      if (number++ == broken) fail(Exit::environment, "injected at " + operation.name);
    });
    CheckpointWriter writer(scratch.path(), storage, *solo, saved_at_once());
    writer.save(small_snapshot(2), false);
    const auto outcomes = writer.take_outcomes();
    ASSERT_EQ(outcomes.size(), 1U);
    const auto newest = newest_good(scratch.path(), nullptr);
    ASSERT_TRUE(newest.has_value()) << operations[broken].name;
    if (outcomes[0].committed)
      EXPECT_TRUE(holds_step(*newest, 2)) << operations[broken].name;
    else
      EXPECT_TRUE(holds_step(*newest, 1) || holds_step(*newest, 2)) << operations[broken].name;

    writer.save(small_snapshot(3), false);
    EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 3)) << "after " << operations[broken].name;
  }
}

TEST(Commit, LosesNothingAnnouncedWhenTheProcessDiesAtAnyOperation) {
  const auto operations = operations_of_a_save();
  for (size_t last = 0; last < operations.size(); ++last) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    DiskStorage disk;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(1), false);
    const pid_t child = fork();
    if (child == 0) {
      size_t number = 0;
      FaultyStorage storage([&](const Operation&) {
        if (number++ == last) kill(getpid(), SIGKILL);
      });
      CheckpointWriter(scratch.path(), storage, *solo, saved_at_once()).save(small_snapshot(2), false);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << operations[last].name;
    const auto newest = newest_good(scratch.path(), nullptr);
    ASSERT_TRUE(newest.has_value()) << operations[last].name;
    EXPECT_TRUE(holds_step(*newest, 1) || holds_step(*newest, 2)) << operations[last].name;
    CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(3), false);
    EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 3)) << "after " << operations[last].name;
  }
}

TEST(Commit, ReplacesADamagedCheckpointOfTheSameStep) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter writer(scratch.path(), disk, *solo, saved_at_once());
  writer.save(small_snapshot(1), false);
  flip_bit(scratch.path() / "step-00000001" / "model.safetensors", 100, 3);
  EXPECT_THROW(newest_good(scratch.path(), nullptr), Error);
  writer.save(small_snapshot(1), false);
  EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 1));
}

TEST(Commit, RemovesWhatEarlierKillsLeftBehind) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  for (const auto* rubbish : {"step-00000002.gen-0.tmp", "step-00000003.gen-1.tmp", ".trash-step-00000001"}) {
    std::filesystem::create_directory(scratch.path() / rubbish);
    write_text(disk, scratch.path() / rubbish / "model.safetensors", "half of it");
  }
  std::filesystem::create_symlink("step-00000001", scratch.path() / "last.new-1234");
  CheckpointWriter(scratch.path(), disk, *solo, saved_at_once()).save(small_snapshot(4), false);
  std::set<std::string> left;
  for (const auto& item : std::filesystem::directory_iterator(scratch.path()))
    left.insert(item.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"last", "step-00000004"}));
}

TEST(Commit, LeavesEqualFilesForEqualSnapshots) {
  const ScratchFolder one, other;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter(one.path(), disk, *solo, saved_at_once()).save(small_snapshot(7), false);
  CheckpointWriter(other.path(), disk, *solo, saved_at_once()).save(small_snapshot(7), false);
  const auto file = std::filesystem::path("step-00000007") / "model.safetensors";
  EXPECT_EQ(read_text(one.path() / file), read_text(other.path() / file));
}

}  // namespace
}  // namespace larmor::testing

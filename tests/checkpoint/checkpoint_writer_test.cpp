#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

CheckpointOptions beside_training() { return {}; }

TEST(CheckpointWriter, SavesBesideTrainingWhatTheSnapshotHeldAtTheCall) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  CheckpointWriter writer(scratch.path(), disk, *solo, beside_training());
  auto snapshot = small_snapshot(4);
  writer.save(snapshot, false);
  snapshot.files["model.safetensors"].at("bias").fill_(99);  // training goes on
  writer.finish();
  EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 4));
  const auto outcomes = writer.take_outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_TRUE(outcomes[0].committed);
}

TEST(CheckpointWriter, KeepsTheNewestAndTheBestAndLinksThem) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  DiskStorage disk;
  auto options = saved_at_once();
  options.keep_last = 2;
  options.keep_best = 1;
  CheckpointWriter writer(scratch.path(), disk, *solo, options);
  const double metrics[] = {0.5, 0.1, 0.4, 0.3, 0.2};
  for (int64_t step = 1; step <= 5; ++step) writer.save(small_snapshot(step, 0, metrics[step - 1]), false);
  std::vector<int64_t> steps;
  for (const auto& entry : list_checkpoints(scratch.path(), true)) steps.push_back(entry.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{5, 4, 2}));
  EXPECT_EQ(std::filesystem::read_symlink(scratch.path() / "last"), "step-00000005");
  EXPECT_EQ(std::filesystem::read_symlink(scratch.path() / "best"), "step-00000002");
}

TEST(CheckpointWriter, ForgivesTwoFailuresInARowAndEndsTheRunAtTheThird) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  FaultyStorage full([](const FaultyStorage::Operation& operation) {
    if (operation.name == "write") fail(Exit::environment, "no space left on device");
  });
  CheckpointWriter writer(scratch.path(), full, *solo, saved_at_once());
  writer.save(small_snapshot(1), false);
  writer.save(small_snapshot(2), false);
  for (const auto& outcome : writer.take_outcomes()) {
    EXPECT_FALSE(outcome.committed);
    EXPECT_NE(outcome.warning.find("no space left"), std::string::npos);
  }
  try {
    writer.save(small_snapshot(3), false);
    FAIL() << "the third failure was forgiven";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
  }
}

TEST(CheckpointWriter, EndsTheRunWhenTheLastSaveFails) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  FaultyStorage full([](const FaultyStorage::Operation& operation) {
    if (operation.name == "sync") fail(Exit::environment, "input/output error");
  });
  CheckpointWriter writer(scratch.path(), full, *solo, beside_training());
  EXPECT_THROW(writer.save(small_snapshot(1), true), Error);
}

TEST(CheckpointWriter, GathersTheShardsOfAllRanksAndAgreesOnTheOutcome) {
  const ScratchFolder scratch;
  auto ranks = make_thread_ranks(3);
  std::vector<bool> committed(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      DiskStorage disk;
      // Rank 1 cannot write its shard the first time: nobody commits.
      bool broken = rank == 1;
      FaultyStorage storage([&](const FaultyStorage::Operation& operation) {
        if (broken && operation.name == "write") fail(Exit::environment, "injected");
      });
      CheckpointWriter writer(scratch.path(), storage, *ranks[static_cast<size_t>(rank)], saved_at_once());
      writer.save(small_snapshot(1, rank), false);
      EXPECT_FALSE(writer.take_outcomes().at(0).committed) << "rank " << rank;
      broken = false;
      writer.save(small_snapshot(2, rank), false);
      EXPECT_TRUE(writer.take_outcomes().at(0).committed) << "rank " << rank;
    });
  }
  for (auto& thread : threads) thread.join();
  const auto newest = newest_good(scratch.path(), nullptr);
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->step, 2);
  EXPECT_EQ(newest->world_size, 3);
  EXPECT_TRUE(has_checkpoint_file(*newest, "optimizer-2.safetensors"));
}

}  // namespace
}  // namespace larmor::testing

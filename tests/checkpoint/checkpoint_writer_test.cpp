#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

CheckpointOptions beside_training() { return {}; }

/// A disk whose first write waits for a word, and fails where it is told to.
class WaitingDisk {
 public:
  explicit WaitingDisk(bool fails = false)
      : storage([fails, word = word_.get_future().share()](const FaultyStorage::Operation& operation) {
          if (operation.name != "write") return;
          word.wait();
          if (fails) fail(Exit::environment, "no space left on device");
        }) {}
  void go_on() { word_.set_value(); }

 private:
  std::promise<void> word_;

 public:
  FaultyStorage storage;
};

/// Hears of outcomes on whatever thread, and waits for the first.
class Listener {
 public:
  TellOutcome tell() {
    return [this](const SaveOutcome& outcome) { heard_.set_value(outcome); };
  }
  SaveOutcome wait() { return heard_.get_future().get(); }

 private:
  std::promise<SaveOutcome> heard_;
};

TEST(CheckpointWriter, TellsOfASaveWhenItHasEndedUnderTheMomentOfItsSnapshot) {
  for (const bool fails : {false, true}) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    WaitingDisk disk(fails);
    Listener listener;
    CheckpointWriter writer(scratch.path(), disk.storage, *solo, beside_training(), listener.tell());
    auto snapshot = small_snapshot(4);
    snapshot.epoch = 0.5;
    snapshot.examples = 16;
    writer.save(snapshot, false);
    EXPECT_TRUE(writer.is_saving());
    EXPECT_FALSE(writer.has_ended());
    disk.go_on();
    const auto heard = listener.wait();  // nobody has asked the writer
    EXPECT_EQ(heard.step, 4);
    EXPECT_EQ(heard.epoch, 0.5);
    EXPECT_EQ(heard.examples, 16);
    EXPECT_EQ(heard.committed, !fails);
    EXPECT_TRUE(writer.has_ended());
    EXPECT_FALSE(writer.is_saving());
    writer.settle();
    EXPECT_FALSE(writer.has_ended());
    EXPECT_EQ(writer.take_outcomes().size(), 1U);
    writer.finish();
  }
}

TEST(CheckpointWriter, TellsOfASaveThatTrainingWaitsFor) {
  for (const bool last : {false, true}) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    DiskStorage disk;
    Listener listener;
    CheckpointWriter writer(scratch.path(), disk, *solo, last ? beside_training() : saved_at_once(),
                            listener.tell());
    writer.save(small_snapshot(4), last);
    EXPECT_TRUE(listener.wait().committed);
    EXPECT_FALSE(writer.has_ended()) << "there is nothing to settle";
  }
}

TEST(CheckpointWriter, EndsTheRunAtTheThirdFailureInARowWhenThatIsSettled) {
  const ScratchFolder scratch;
  const auto solo = make_solo();
  FaultyStorage full([](const FaultyStorage::Operation& operation) {
    if (operation.name == "write") fail(Exit::environment, "no space left on device");
  });
  CheckpointWriter writer(scratch.path(), full, *solo, beside_training());
  for (const int64_t step : {1, 2}) {
    writer.save(small_snapshot(step), false);
    EXPECT_NO_THROW(writer.settle());
  }
  writer.save(small_snapshot(3), false);
  EXPECT_THROW(writer.settle(), Error);
  EXPECT_NO_THROW(writer.finish()) << "it has been said";
}

TEST(CheckpointWriter, LogsTheFailureOfASaveThatNobodyAsksForAnyMore) {
  for (const bool throws : {false, true}) {
    const ScratchFolder scratch;
    const auto solo = make_solo();
    WaitingDisk disk(/*fails=*/!throws);
    ::testing::internal::CaptureStderr();
    try {
      CheckpointWriter writer(scratch.path(), disk.storage, *solo, beside_training(),
                              [&](const SaveOutcome&) {
                                if (throws) fail(Exit::rank_lost, "the run went on without us");
                              });
      writer.save(small_snapshot(7), false);
      disk.go_on();
      fail(Exit::data, "training has failed");
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
    }
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                HasSubstr(throws ? "the save of step 7 has failed: the run went on without us"
                                 : "no space left on device"));
  }
}

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

/// Ranks on GPUs: collectives of the group and of its duplicates stand on the stream that training computes
/// on, and are counted. A duplicate on the host is none of them.
class RankOnAGpu final : public Communicator {
 public:
  RankOnAGpu(std::unique_ptr<Communicator> inner, std::atomic<int>& on_the_stream)
      : inner_(std::move(inner)), on_the_stream_(on_the_stream) {}
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Pending all_reduce(at::Tensor tensor, Reduce operation) override {
    return counted().all_reduce(std::move(tensor), operation);
  }
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override {
    return counted().reduce_scatter(full, std::move(shard), operation);
  }
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override {
    return counted().all_gather(shard, std::move(full));
  }
  Pending broadcast(at::Tensor tensor, int root) override {
    return counted().broadcast(std::move(tensor), root);
  }
  void barrier() override { counted().barrier(); }
  std::unique_ptr<Communicator> duplicate() override {
    return std::make_unique<RankOnAGpu>(inner_->duplicate(), on_the_stream_);
  }
  std::unique_ptr<Communicator> duplicate_on_host() override { return inner_->duplicate(); }
  void abort() override { inner_->abort(); }

 private:
  Communicator& counted() {
    ++on_the_stream_;
    return *inner_;
  }
  std::unique_ptr<Communicator> inner_;
  std::atomic<int>& on_the_stream_;
};

/// Two ranks on GPUs, each of which may have put collectives of training and of a save on its stream in
/// another order, would wait for each other for ever.
TEST(CheckpointWriter, AgreesOnTheHostAndPutsNothingOnTheStreamOfTraining) {
  const ScratchFolder scratch;
  auto ranks = make_thread_ranks(2);
  std::atomic<int> on_the_stream{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      RankOnAGpu gpu(std::move(ranks[static_cast<size_t>(rank)]), on_the_stream);
      DiskStorage disk;
      CheckpointWriter writer(scratch.path(), disk, gpu, beside_training());
      writer.save(small_snapshot(1, rank), false);
      writer.save(small_snapshot(2, rank), true);
      writer.finish();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(on_the_stream, 0);
  EXPECT_TRUE(holds_step(*newest_good(scratch.path(), nullptr), 2));
}

}  // namespace
}  // namespace larmor::testing

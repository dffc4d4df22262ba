#include "larmor/train/step/micro_batches.h"

#include <gtest/gtest.h>

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

std::vector<int64_t> examples_in(const Batch& batch) {
  std::vector<int64_t> examples;
  for (const auto& key : batch.keys) examples.push_back(key.example);
  return examples;
}

TEST(MicroBatches, ComeInTheirOrderWhetherTheyAreKeptBeforeOrNot) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  MicroBatches plain(small.loop), kept(small.loop);
  kept.keep_next();
  kept.keep_next();
  for (int micro = 0; micro < 4; ++micro)
    EXPECT_EQ(examples_in(kept.send(kept.read())), examples_in(plain.send(plain.read()))) << micro;
}

TEST(MicroBatches, BeginAgainWhereTrainingIs) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  MicroBatches batches(small.loop);
  const auto first = examples_in(batches.read());
  batches.open_again();
  EXPECT_EQ(examples_in(batches.keep_next()), first) << "the step has not been done";
  small.loop.advance();
  batches.open_again();
  const auto second_step = small.examples_of_step(1);
  EXPECT_EQ(examples_in(batches.read()), std::vector(second_step.begin(), second_step.begin() + 2));
}

TEST(MicroBatches, TellTheLoopOfFilesThatCannotBeRead) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  MicroBatches batches(small.loop);
  batches.read();
  EXPECT_FALSE(small.loop.bad.has_new());
  small.training.unreadable = {small.examples_of_step(0)[2]};
  batches.read();
  EXPECT_TRUE(small.loop.bad.has_new());
  small.loop.bad.share({});
  batches.open_again();
  batches.read();
  batches.read();
  EXPECT_FALSE(small.loop.bad.has_new()) << "it is the same file";
}

TEST(MicroBatches, ShowInWhichPhaseTheRankIs) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  MicroBatches batches(small.loop);
  batches.read();
  EXPECT_EQ(small.board.phase(0), Phase::computing);
}

}  // namespace
}  // namespace larmor::testing

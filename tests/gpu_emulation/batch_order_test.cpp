// Batches that are copied to a card while it computes the ones before: on a stream of their own, in order
// with what reads them, with no host waiting, and in the memory of two.
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/train/batch_feed.h"

#include "tests/gpu_emulation/runtime/counters.h"

namespace larmor::testing {
namespace {

const c10::Device card(c10::kCUDA, 0);
constexpr int64_t voxels = 1000;

/// As a loader has it: pinned, and every voxel of this value.
Batch batch_of(float value, int64_t rows = 2) {
  Batch batch;
  batch.tensors["image"] = at::full({rows, voxels}, value).pin_memory();
  batch.tensors["label"] = at::full({rows}, static_cast<int64_t>(value), at::kLong).pin_memory();
  batch.keys.resize(static_cast<size_t>(rows));
  return batch;
}

/// What a card computes of a batch, which the host does not see yet.
at::Tensor mean_of(const Batch& batch) {
  return batch.at("image").mean() + batch.at("label").to(at::kFloat).mean();
}

int64_t bytes_in_use() {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(card.index()).allocated_bytes[0].current;
}

int64_t reserved_bytes() {
  return c10::cuda::CUDACachingAllocator::getDeviceStats(card.index()).reserved_bytes[0].current;
}

void leave_the_card(int64_t more_bytes) {
  c10::cuda::device_synchronize();
  c10::cuda::CUDACachingAllocator::emptyCache();
  size_t unused = 0, total = 0;
  cudaMemGetInfo(&unused, &total);
  c10::cuda::CUDACachingAllocator::setMemoryFraction(
      static_cast<double>(reserved_bytes() + more_bytes) / static_cast<double>(total), card.index());
}

class BatchOrder : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    at::globalContext().lazyInitDevice(c10::kCUDA);
  }
  void TearDown() override {
    c10::cuda::CUDACachingAllocator::setMemoryFraction(1, card.index());
    c10::cuda::device_synchronize();
  }
  BatchFeed feed_{card, Precision::fp32};
};
using BatchOrderDeathTest = BatchOrder;

TEST_F(BatchOrder, TheNextBatchIsCopiedWhileThisOneIsComputed) {
  const Batch first = batch_of(1), second = batch_of(2);
  const Batch now = feed_.take(first);
  c10::cuda::device_synchronize();
  const auto waits = emulated::counters().host_waits.load();
  const auto overlapping = emulated::counters().overlapping_copies.load();
  feed_.copy_ahead(second);
  const auto copies = emulated::counters().copies_to_device.load();
  const at::Tensor of_first = mean_of(now);
  const at::Tensor of_second = mean_of(feed_.take(second));
  EXPECT_EQ(emulated::counters().copies_to_device, copies) << "it is there already";
  EXPECT_EQ(emulated::counters().overlapping_copies, overlapping + 2) << "an image and a label";
  EXPECT_EQ(emulated::counters().host_waits, waits);
  EXPECT_EQ(of_first.item<float>(), 2);
  EXPECT_EQ(of_second.item<float>(), 4);
}

TEST_F(BatchOrder, WithNothingToComputeMeanwhileACopyOverlapsWithNothing) {
  feed_.take(batch_of(1));
  c10::cuda::device_synchronize();
  const auto overlapping = emulated::counters().overlapping_copies.load();
  mean_of(feed_.take(batch_of(2)));
  EXPECT_EQ(emulated::counters().overlapping_copies, overlapping);
}

TEST_F(BatchOrder, ABatchNobodyCopiedAheadIsCopiedBesideTheOneBefore) {
  const at::Tensor of_first = mean_of(feed_.take(batch_of(1)));
  const auto overlapping = emulated::counters().overlapping_copies.load();
  const at::Tensor of_second = mean_of(feed_.take(batch_of(2)));
  EXPECT_EQ(emulated::counters().overlapping_copies, overlapping + 2);
  EXPECT_EQ(of_first.item<float>(), 2);
  EXPECT_EQ(of_second.item<float>(), 4);
}

// Nothing but events orders them here: the host learns of no work before the end.
TEST_F(BatchOrder, ManyBatchesTakeTurnsInTheMemoryOfTwo) {
  std::vector<Batch> batches;
  for (int number = 0; number < 10; ++number) batches.push_back(batch_of(static_cast<float>(number)));
  const int64_t before = bytes_in_use();
  std::vector<at::Tensor> means;
  for (size_t number = 0; number < batches.size(); ++number) {
    const Batch now = feed_.take(batches[number]);
    if (number + 1 < batches.size()) feed_.copy_ahead(batches[number + 1]);
    means.push_back(mean_of(now));
  }
  const auto of_batches = bytes_in_use() - before - static_cast<int64_t>(means.size()) * 512;
  constexpr int64_t two = 2 * (2 * voxels * 4 + 192 + 512);  // blocks of an image and a label
  EXPECT_EQ(of_batches, two);
  for (size_t number = 0; number < means.size(); ++number)
    EXPECT_EQ(means[number].item<float>(), 2 * static_cast<float>(number));
}

TEST_F(BatchOrder, ABatchThatSomebodyKeepsStaysAsItIs) {
  const Batch kept = feed_.take(batch_of(1));
  const at::Tensor view = feed_.take(batch_of(2)).at("image").narrow(0, 1, 1);
  for (int number = 3; number < 9; ++number) mean_of(feed_.take(batch_of(static_cast<float>(number))));
  EXPECT_EQ(mean_of(kept).item<float>(), 2);
  EXPECT_EQ(view.mean().item<float>(), 2);
}

TEST_F(BatchOrder, AKeptBatchIsNotWrittenToWhenItsKeeperIsDoneBeforeTheCard) {
  std::vector<Batch> batches;
  for (int number = 0; number < 10; ++number) batches.push_back(batch_of(static_cast<float>(number)));
  Batch kept;
  std::vector<at::Tensor> means;
  for (const Batch& batch : batches) {
    Batch now = feed_.take(batch);
    if (kept.size() > 0) means.push_back(mean_of(kept));
    kept = std::move(now);  // the one before is freed, and the card may still read it
  }
  for (size_t number = 0; number < means.size(); ++number)
    EXPECT_EQ(means[number].item<float>(), 2 * static_cast<float>(number));
}

TEST_F(BatchOrder, AskedForAnotherThanWasCopiedAheadItGivesTheOther) {
  const Batch expected = batch_of(2), asked = batch_of(3, 5), later = batch_of(4);
  const at::Tensor of_first = mean_of(feed_.take(batch_of(1)));
  feed_.copy_ahead(expected);
  const at::Tensor of_asked = mean_of(feed_.take(asked));
  feed_.copy_ahead(later);  // in the place of the one that was not asked for
  const at::Tensor of_expected = mean_of(feed_.take(expected));
  EXPECT_EQ(of_first.item<float>(), 2);
  EXPECT_EQ(of_asked.item<float>(), 6);
  EXPECT_EQ(of_expected.item<float>(), 4);
}

TEST_F(BatchOrder, InDoublePrecisionImagesAreDoublesAndLabelsStayIntegers) {
  BatchFeed feed(card, Precision::fp64);
  const auto pageable = emulated::counters().pageable_asynchronous_copies.load();
  const auto waits = emulated::counters().host_waits.load();
  const Batch batch = feed.take(batch_of(1));
  EXPECT_EQ(batch.at("image").scalar_type(), at::kDouble);
  EXPECT_EQ(batch.at("label").scalar_type(), at::kLong);
  EXPECT_EQ(emulated::counters().pageable_asynchronous_copies, pageable);
  EXPECT_EQ(emulated::counters().host_waits, waits);
  EXPECT_EQ(mean_of(batch).item<double>(), 2);
}

TEST_F(BatchOrder, WithoutRoomForASecondBatchEachIsCopiedInItsTurn) {
  constexpr int64_t rows = 4000;  // 16 MB
  const Batch first = batch_of(1, rows), second = batch_of(2, rows);
  Batch now = feed_.take(first);
  const at::Tensor of_first = mean_of(now);
  leave_the_card(4 << 20);
  feed_.copy_ahead(second);
  const auto copies = emulated::counters().copies_to_device.load();
  now = {};  // as in training, where each goes before the next comes
  now = feed_.take(second);
  EXPECT_EQ(emulated::counters().copies_to_device, copies + 2);
  EXPECT_EQ(of_first.item<float>(), 2);
  EXPECT_EQ(mean_of(now).item<float>(), 4);
}

TEST_F(BatchOrderDeathTest, AStreamThatDoesNotWaitForTheCopyIsNamed) {
  const auto read = [](bool waits) {
    BatchFeed feed(card, Precision::fp32);
    const Batch first = batch_of(1);
    const auto side = c10::cuda::getStreamFromPool(/*isHighPriority=*/false, card.index());
    Batch batch;
    {
      const c10::cuda::CUDAStreamGuard guard(waits ? c10::cuda::getDefaultCUDAStream(card.index()) : side);
      batch = feed.take(first);
    }
    EXPECT_EQ(mean_of(batch).item<float>(), 2);
  };
  read(/*waits=*/true);
  EXPECT_DEATH(read(/*waits=*/false),
               "reads .* bytes that a copy on stream .* writes, and nothing orders the two");
}

}  // namespace
}  // namespace larmor::testing

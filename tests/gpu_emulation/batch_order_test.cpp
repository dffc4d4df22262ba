// Batches that are copied to a card while it computes the ones before: on a stream of their own, in order
// with what reads them, with no host waiting, and in the memory of two.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/judge/batch_feed.h"
#include "larmor/judge/validation.h"

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

/// Cases whose voxels are all their number.
class NumberedCases final : public Dataset {
 public:
  explicit NumberedCases(int64_t size, int64_t length = voxels) : size_(size), length_(length) {}
  int64_t size() const override { return size_; }
  std::string name(int64_t example) const override { return std::to_string(example); }
  Sample get(const ExampleKey& key) const override {
    if (key.example == broken) fail(Exit::data, "a torn file");
    ++read;
    return {{"image", at::full({length_}, static_cast<float>(key.example))}};
  }
  /// Until the case and those before it have been read, and a moment longer: they wait in the loader then.
  void wait_for(int64_t example) const {
    while (read <= std::min(example, size_ - 1)) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  int64_t broken = -1;
  mutable std::atomic<int64_t> read = 0;

 private:
  int64_t size_, length_;
};

/// Waits for the mean of each case, as tasks do; keeps the voxels of so many.
class Means final : public Task {
 public:
  explicit Means(size_t keeps = 0) : keeps_(keeps) {}
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    const at::Tensor mean = batch.at("image").mean(1).cpu();
    for (int64_t row = 0; row < batch.size(); ++row)
      metrics.value("mean", batch.keys[static_cast<size_t>(row)].example, mean[row].item<double>());
    if (kept.size() < keeps_) kept.push_back(batch.at("image").narrow(1, 0, 1));
  }
  std::vector<at::Tensor> kept;

 private:
  size_t keeps_;
};

class ValidationOrder : public BatchOrder {
 protected:
  /// Each case's mean is its number, and the host waited for it and for nothing else.
  void validate_on_card(const NumberedCases& cases, Task& task, ValidationOptions options) {
    options.device = card;
    int64_t done = 0;
    options.progress = [&](const WorkProgress& progress) {
      if (options.workers > 0 && progress.done > done) cases.wait_for((done = progress.done) + 1);
    };
    const auto waits = emulated::counters().host_waits.load();
    const auto pageable = emulated::counters().pageable_asynchronous_copies.load();
    const auto overlapping = emulated::counters().overlapping_copies.load();
    const auto solo = make_solo();
    const auto result = validate(task, cases, *solo, options);
    overlapping_ = static_cast<int64_t>(emulated::counters().overlapping_copies - overlapping);
    waits_ = static_cast<int64_t>(emulated::counters().host_waits - waits);
    EXPECT_EQ(emulated::counters().pageable_asynchronous_copies, pageable);
    const auto means = result.metrics.at("mean").per_case;
    EXPECT_EQ(std::ssize(means) + std::ssize(result.bad), cases.size());
    for (const auto& [example, mean] : means) EXPECT_EQ(mean, static_cast<double>(example));
  }
  int64_t overlapping_ = 0, waits_ = 0;
};

TEST_F(ValidationOrder, TheNextCaseIsCopiedWhileThisOneIsComputedAndTheHostWaitsForNoCopy) {
  for (const int workers : {1, 3}) {
    Means task;
    validate_on_card(NumberedCases(8), task, {.workers = workers});
    EXPECT_GE(overlapping_, 8 - 2) << "of the first and the second that may not be";
    EXPECT_EQ(waits_, 8);
  }
}

TEST_F(ValidationOrder, ACaseThatNobodyReadsAheadIsCopiedInItsTurn) {
  Means task;
  validate_on_card(NumberedCases(8), task, {.workers = 0});
  EXPECT_EQ(overlapping_, 0);
  EXPECT_EQ(waits_, 8);
}

TEST_F(ValidationOrder, CasesThatAreComputedTogetherAreCopiedTogether) {
  Means task;
  const auto copies = emulated::counters().copies_to_device.load();
  validate_on_card(NumberedCases(8), task, {.batch = 3, .workers = 2});
  EXPECT_EQ(emulated::counters().copies_to_device, copies + 3);
  EXPECT_EQ(waits_, 3);
}

TEST_F(ValidationOrder, ACaseThatCannotBeReadIsLeftOutAndTheOthersKeepTheirOrder) {
  NumberedCases cases(8);
  cases.broken = 3;
  cases.read = 1;  // as if it were counted
  Means task;
  validate_on_card(cases, task, {.workers = 2});
  EXPECT_EQ(waits_, 7);
}

TEST_F(ValidationOrder, ACaseThatTheTaskKeepsStaysAsItIs) {
  Means task(/*keeps=*/3);
  validate_on_card(NumberedCases(8), task, {.workers = 2});
  for (size_t i = 0; i < task.kept.size(); ++i) EXPECT_EQ(task.kept[i].item<float>(), static_cast<float>(i));
}

TEST_F(ValidationOrder, WithoutRoomForASecondCaseEachIsCopiedInItsTurn) {
  constexpr int64_t length = 4'000'000;  // 16 MB
  leave_the_card(20 << 20);
  Means task;
  validate_on_card(NumberedCases(4, length), task, {.workers = 2});
  EXPECT_EQ(overlapping_, 0);
}

TEST_F(ValidationOrder, TheFeedOfATrainingHasNothingLeftBehindItAndGoesOn) {
  const int64_t before = bytes_in_use();
  const Batch first = batch_of(1), second = batch_of(2);
  at::Tensor of_first = mean_of(feed_.take(first));
  feed_.copy_ahead(second);
  Means task;
  validate_on_card(NumberedCases(5), task, {.workers = 2, .feed = &feed_});
  EXPECT_EQ(of_first.item<float>(), 2);
  of_first.reset();
  EXPECT_EQ(bytes_in_use(), before);
  EXPECT_EQ(mean_of(feed_.take(second)).item<float>(), 4);
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

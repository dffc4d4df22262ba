#include "larmor/train/step/bad_examples.h"

#include <set>
#include <stdexcept>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/track/tracker.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

/// Two crops of each of four volumes: example 2k and 2k + 1 are of volume k.
class CropsOfFour final : public Dataset {
 public:
  int64_t size() const override { return 8; }
  Sample get(const ExampleKey&) const override { return {}; }
  std::string name(int64_t example) const override { return "v" + std::to_string(example / 2) + ".nii"; }
  int64_t examples_per_case() const override { return 2; }
};

Batch batch_of_examples(const std::vector<int64_t>& examples) {
  Batch batch;
  batch.tensors["image"] = at::tensor(examples, at::kLong);
  for (const auto example : examples) batch.keys.push_back({.seed = 1, .epoch = 0, .example = example});
  return batch;
}

/// A task's forward that takes none of these.
std::function<void(const Batch&)> without(const std::set<int64_t>& odd, Exit exit = Exit::data) {
  return [odd, exit](const Batch& batch) {
    for (const auto& key : batch.keys) {
      if (odd.contains(key.example)) fail(exit, "has no tumour");
    }
  };
}

/// What one rank knows, on however many ranks.
struct BadExamplesOfARank {
  explicit BadExamplesOfARank(Communicator& communicator, int64_t allowed = 8)
      : quarantine(scratch.path() / "quarantine.json", allowed, disk, communicator, *tracker),
        bad(cases, quarantine, communicator) {}

  /// How the forward of a batch has failed; null where it has not.
  std::exception_ptr failure_of(const std::vector<int64_t>& examples,
                                const std::function<void(const Batch&)>& forward, bool can_divide = true) {
    try {
      bad.try_forward(batch_of_examples(examples), can_divide, forward);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  const ScratchFolder scratch;
  DiskStorage disk;
  CropsOfFour cases;
  std::unique_ptr<Tracker> tracker = make_silent_tracker();
  Quarantine quarantine;
  BadExamples bad;
};

TEST(BadExamples, AreThoseThatAreRefusedAloneWithAllCropsOfTheirVolume) {
  const auto solo = make_solo();
  BadExamplesOfARank rank(*solo);
  const auto failure = rank.failure_of({0, 3, 6}, without({3}));
  ASSERT_TRUE(failure);
  try {
    std::rethrow_exception(failure);
  } catch (const RefusedExamples& refused) {
    EXPECT_THAT(refused.examples(), ElementsAre(Key(2), Key(3)));
    EXPECT_EQ(refused.exit(), Exit::data);
    EXPECT_THAT(refused.message(), HasSubstr("while training on v0.nii, v1.nii, v3.nii"));
  }
  EXPECT_TRUE(rank.bad.leave_out(failure));
  EXPECT_THAT(rank.bad.left_out(), ElementsAre(Key(2), Key(3)));
  EXPECT_TRUE(rank.bad.has_new());
  rank.bad.share({});
  EXPECT_FALSE(rank.bad.has_new());
  EXPECT_EQ(read_json(rank.scratch.path() / "quarantine.json").size(), 1U) << "one file, though two crops";
}

TEST(BadExamples, AreAllOfABatchThatCannotBeDividedOrIsRefusedOnlyAsAWhole) {
  const auto solo = make_solo();
  BadExamplesOfARank rank(*solo);
  const auto as_a_whole = [](const Batch& batch) {
    if (batch.size() > 1) fail(Exit::data, "is of two shapes");
  };
  EXPECT_TRUE(rank.bad.leave_out(rank.failure_of({0, 3}, as_a_whole)));
  EXPECT_THAT(rank.bad.left_out(), ElementsAre(Key(0), Key(1), Key(2), Key(3)));
  EXPECT_TRUE(rank.bad.leave_out(rank.failure_of({5, 6}, without({5}), /*can_divide=*/false)));
  EXPECT_EQ(rank.bad.left_out().size(), 8U);
}

TEST(BadExamples, AreNotThoseOfAnotherFailure) {
  const auto solo = make_solo();
  BadExamplesOfARank rank(*solo);
  EXPECT_FALSE(rank.bad.leave_out(rank.failure_of({0, 3}, without({3}, Exit::usage))));
  EXPECT_FALSE(rank.bad.leave_out(std::make_exception_ptr(std::runtime_error("a fault of the code"))));
  EXPECT_TRUE(rank.bad.left_out().empty());
  EXPECT_EQ(rank.failure_of({0, 3}, without({})), nullptr);
}

TEST(BadExamples, AreLeftOutByEveryRankUnlessOneFailsForAnotherReason) {
  for (const bool other_fails : {false, true}) {
    auto communicators = make_thread_ranks(2);
    std::vector<std::thread> threads;
    for (size_t index = 0; index < 2; ++index) {
      threads.emplace_back([&, index] {
        BadExamplesOfARank rank(*communicators[index]);
        auto failure = index == 0 ? rank.failure_of({1}, without({1})) : nullptr;
        if (index == 1 && other_fails) failure = std::make_exception_ptr(std::runtime_error("a fault"));
        EXPECT_EQ(rank.bad.leave_out(failure), !other_fails);
        EXPECT_THAT(rank.bad.left_out(), ElementsAre(Key(0), Key(1)));
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST(BadExamples, OfLoaderTaskAndValidationCountAgainstOneBudget) {
  const auto solo = make_solo();
  BadExamplesOfARank rank(*solo, /*allowed=*/2);
  const BadFile of_loader{"v9.nii", "is cut short"};
  rank.bad.add({of_loader});
  rank.bad.share({});
  rank.bad.add({of_loader});
  EXPECT_FALSE(rank.bad.has_new()) << "the next loader has read it again";
  EXPECT_TRUE(rank.bad.leave_out(rank.failure_of({1}, without({1}))));
  rank.bad.share({});
  rank.bad.add({{"validation.nii", "has no tumour"}});
  EXPECT_THROW(rank.bad.share({}), Error);
}

}  // namespace
}  // namespace larmor::testing

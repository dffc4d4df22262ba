#include "larmor/judge/validation.h"

#include <cmath>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

/// Examples whose image is their number; some cannot be read.
class Numbers final : public Dataset {
 public:
  Numbers(int64_t size, std::vector<int64_t> bad) : size_(size), bad_(std::move(bad)) {}
  int64_t size() const override { return size_; }
  Sample get(const ExampleKey& key) const override {
    if (std::ranges::find(bad_, key.example) != bad_.end()) fail(Exit::data, "a torn file");
    return {{"image", at::full({1}, static_cast<double>(key.example), at::kDouble)}};
  }
  std::string name(int64_t example) const override { return std::to_string(example); }

 private:
  int64_t size_;
  std::vector<int64_t> bad_;
};

/// Records the square of each number, and what it is told of the whole split.
class Squares : public Task {
 public:
  std::vector<Objective> objectives() override { return {{"squares", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    EXPECT_FALSE(network_->is_training());
    const double number = batch.at("image").item<double>();
    metrics.value("loss", batch.keys.front().example, number * number);
    metrics.note("number", batch.keys.front().example, number);
    metrics.note("is reference", batch.keys.front().example, metrics.of_reference() ? 1 : 0);
    looked_at_reference += metrics.of_reference() ? 1 : 0;
    if (!metrics.of_reference()) known_before = std::max(known_before, metrics.reference().size());
  }
  bool reference_stays() const override { return stays; }
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override {
    seen = cases;
    seen_reference = reference;
    double last = 0;
    for (const auto& [example, number] : cases.at("number")) last = number;
    metrics.figure("last", {.value = last, .parts_by = "half", .parts = {{"first", 1}, {"second", 2}}});
  }

  CaseValues seen, seen_reference;
  bool stays = false;
  int looked_at_reference = 0;
  std::size_t known_before = 0;  // kinds of values of the reference, when a case was looked at

  std::vector<ScoredTruths> scores(const CaseValues& cases) const override {
    ScoredTruths odd{.name = "odd"};
    for (const auto& [example, number] : cases.at("number"))
      odd.rows.push_back({.example = example, .truth = example % 2 == 1, .score = number});
    return {odd};
  }

 private:
  torch::nn::Linear network_{1, 1};
};

struct Outcome {
  ValidationResult result;
  CaseValues seen, seen_reference;
};

/// What each of so many ranks has in the end.
std::vector<Outcome> validated(int ranks, const Dataset& cases, const Dataset* reference = nullptr,
                               ValidationOptions options = {}) {
  options.reference = reference;
  auto communicators = make_thread_ranks(ranks);
  std::vector<Outcome> outcomes(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Squares task;
      outcomes[rank].result = validate(task, cases, *communicators[rank], options);
      outcomes[rank].seen = task.seen;
      outcomes[rank].seen_reference = task.seen_reference;
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

TEST(Validation, CountsEachCaseOnceWhateverTheNumberOfRanks) {
  const Numbers seven(7, {});
  for (const int ranks : {1, 2, 3, 4}) {
    for (const auto& [result, seen, none] : validated(ranks, seven)) {
      EXPECT_DOUBLE_EQ(result.metrics.at("loss").mean, (0 + 1 + 4 + 9 + 16 + 25 + 36) / 7.0);
      EXPECT_EQ(result.metrics.at("loss").per_case.size(), 7U);
      EXPECT_FALSE(result.metrics.contains("number")) << "a note is shown to nobody";
      ASSERT_EQ(seen.at("number").size(), 7U);
      for (int64_t i = 0; i < 7; ++i) EXPECT_EQ(seen.at("number")[static_cast<std::size_t>(i)].first, i);
      EXPECT_TRUE(none.empty());
    }
  }
}

TEST(Validation, DrawsRocCurvesWhereASplitIsJudgedAndPicturesAreWanted) {
  const auto pictures_at = [](ValidationDepth depth, bool pictures) {
    std::vector<std::size_t> counts;
    for (const auto& outcome : validated(2, Numbers(5, {}), nullptr, {.pictures = pictures, .depth = depth}))
      counts.push_back(outcome.result.pictures.size());
    return counts;
  };
  EXPECT_THAT(pictures_at(ValidationDepth::full, true), ElementsAre(1, 0)) << "rank 0 draws";
  EXPECT_THAT(pictures_at(ValidationDepth::full, false), ElementsAre(0, 0));
  EXPECT_THAT(pictures_at(ValidationDepth::quick, true), ElementsAre(0, 0));
}

TEST(Validation, LooksAtTheReferenceCasesFirst) {
  Squares task;
  const Numbers cases(3, {}), reference(2, {});
  validate(task, cases, *make_solo(), {.reference = &reference});
  EXPECT_EQ(task.known_before, 3U) << "values and notes";
}

TEST(Validation, TakesFiguresFromTheWholeSplit) {
  for (const auto& outcome : validated(2, Numbers(5, {}))) {
    const auto& figure = outcome.result.metrics.at("last");
    EXPECT_EQ(figure.mean, 4);
    EXPECT_TRUE(figure.per_case.empty());
    EXPECT_EQ(figure.parts_by, "half");
    EXPECT_THAT(figure.parts, ElementsAre(Pair("first", 1), Pair("second", 2)));
  }
}

TEST(Validation, HearsOfReferenceCasesOnlyInTheSummary) {
  const Numbers cases(3, {}), reference(4, {2});
  for (const auto& outcome : validated(2, cases, &reference)) {
    EXPECT_EQ(outcome.result.metrics.at("loss").per_case.size(), 3U);
    EXPECT_THAT(outcome.seen_reference.at("number"), ElementsAre(Pair(0, 0), Pair(1, 1), Pair(3, 3)));
    EXPECT_THAT(outcome.seen_reference.at("is reference"), ElementsAre(Pair(0, 1), Pair(1, 1), Pair(3, 1)));
    EXPECT_THAT(outcome.seen.at("is reference"), ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0)));
    EXPECT_TRUE(outcome.result.bad.empty());
  }
}

TEST(Validation, LooksAtReferenceCasesOnceWhereNothingOfThemChanges) {
  const Numbers cases(3, {}), reference(4, {2});
  for (const bool stays : {false, true}) {
    auto communicators = make_thread_ranks(1);
    Squares task;
    task.stays = stays;
    std::optional<CaseValues> kept;
    const ValidationOptions options{.reference = &reference, .reference_values = &kept};
    validate(task, cases, *communicators[0], options);
    const auto first = std::exchange(task.seen_reference, {});
    validate(task, cases, *communicators[0], options);
    EXPECT_EQ(task.looked_at_reference, stays ? 3 : 6);
    EXPECT_EQ(task.seen_reference, first);
    EXPECT_EQ(kept.has_value(), stays);
  }
}

TEST(Validation, LeavesOutAndNamesWhatCannotBeRead) {
  for (const auto& outcome : validated(3, Numbers(5, {1, 4}))) {
    EXPECT_EQ(outcome.result.metrics.at("loss").per_case.size(), 3U);
    EXPECT_EQ(outcome.result.bad.size(), 2U);
  }
}

/// Refuses some of the numbers, after it has recorded something of them.
class Picky final : public Squares {
 public:
  Picky(std::vector<int64_t> odd, Exit exit) : odd_(std::move(odd)), exit_(exit) {}
  void validate(const Batch& batch, Metrics& metrics) override {
    Squares::validate(batch, metrics);
    if (std::ranges::find(odd_, batch.keys.front().example) != odd_.end()) fail(exit_, "an odd number");
  }

 private:
  std::vector<int64_t> odd_;
  Exit exit_;
};

TEST(Validation, LeavesOutAndNamesWhatTheTaskRefusesOnAnyNumberOfRanks) {
  const Numbers cases(8, {2});
  for (const int ranks : {1, 2, 3, 4}) {
    auto communicators = make_thread_ranks(ranks);
    std::vector<ValidationResult> results(communicators.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
      threads.emplace_back([&, rank] {
        Picky task({5, 1}, Exit::data);
        results[rank] = validate(task, cases, *communicators[rank], {});
      });
    }
    for (auto& thread : threads) thread.join();
    for (const auto& result : results) {
      EXPECT_EQ(result.bad,
                (std::vector<BadFile>{{"1", "an odd number"}, {"2", "a torn file"}, {"5", "an odd number"}}));
      EXPECT_EQ(result.metrics.at("loss").mean, (0 + 9 + 16 + 36 + 49) / 5.0)
          << "what was recorded of an odd case counted";
    }
  }
}

TEST(Validation, FailsOnAllRanksAlikeWhereOneFailsAndNamesTheCase) {
  const Numbers cases(6, {});
  auto communicators = make_thread_ranks(3);
  std::vector<std::string> said(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Picky task({4}, Exit::usage);
      try {
        validate(task, cases, *communicators[rank], {});
      } catch (const Error& error) {
        EXPECT_EQ(error.exit(), Exit::usage);
        said[rank] = error.message();
      }
      communicators[rank]->barrier();  // nobody is left behind in a collective
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(said[1], "while validating 4: an odd number");
  for (const std::size_t other : {std::size_t{0}, std::size_t{2}})
    EXPECT_EQ(said[other], "the validation failed on rank 1: while validating 4: an odd number");
}

TEST(Validation, GivesTheSameBitsWhateverRanksBatchAndThreadsThatReadAhead) {
  const Numbers cases(9, {2, 7});
  const auto alone = validated(1, cases).front();
  for (const int ranks : {1, 2, 3}) {
    for (const int64_t batch : {1, 2, 4}) {
      for (const int workers : {0, 1, 3}) {
        for (const auto& outcome : validated(ranks, cases, nullptr, {.batch = batch, .workers = workers})) {
          EXPECT_EQ(outcome.result.metrics.at("loss").mean, alone.result.metrics.at("loss").mean);
          EXPECT_EQ(outcome.seen, alone.seen);
          EXPECT_EQ(outcome.result.bad, alone.result.bad);
        }
      }
    }
  }
}

/// Of two patients, by turns.
class NumbersOfTwo final : public Dataset {
 public:
  int64_t size() const override { return numbers_.size(); }
  Sample get(const ExampleKey& key) const override { return numbers_.get(key); }
  std::string name(int64_t example) const override { return numbers_.name(example); }
  std::string patient(int64_t example) const override { return example % 2 == 0 ? "even" : "odd"; }

 private:
  Numbers numbers_{4, {}};
};

TEST(Validation, GivesEachMeanOverCasesAnIntervalOverPatientsAtFullDepth) {
  for (const int ranks : {1, 3}) {
    auto communicators = make_thread_ranks(ranks);
    std::vector<ValidationResult> results(communicators.size());
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
      threads.emplace_back([&, rank] {
        Squares task;
        results[rank] =
            validate(task, NumbersOfTwo(), *communicators[rank], {.depth = ValidationDepth::full});
      });
    }
    for (auto& thread : threads) thread.join();
    for (const ValidationResult& result : results) {
      EXPECT_EQ(result.patients, 2);
      EXPECT_EQ(result.metrics.at("loss").mean, (0 + 1 + 4 + 9) / 4.0);
      EXPECT_EQ(result.metrics.at("loss").interval, std::pair((0 + 4) / 2.0, (1 + 9) / 2.0));
    }
  }
  Squares task;
  EXPECT_FALSE(validate(task, NumbersOfTwo(), *make_solo(), {}).metrics.at("loss").interval);
}

/// Deals out squares in its summary.
class Sharing final : public Squares {
 public:
  void summarize(const CaseValues&, const CaseValues&, Metrics& metrics) override {
    EXPECT_EQ(metrics.depth(), ValidationDepth::full);
    shared = metrics.shared_out(7, [this](int64_t i) {
      ++own;
      return i == 3 ? std::nan("") : static_cast<double>(i * i);
    });
  }
  std::vector<double> shared;
  int own = 0;
};

TEST(Validation, SharesOutTheWorkOfItsSummaryAndTellsAllRanksTheResults) {
  const Numbers cases(4, {});
  auto communicators = make_thread_ranks(3);
  std::vector<Sharing> tasks(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { validate(tasks[rank], cases, *communicators[rank], {.depth = ValidationDepth::full}); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tasks[0].own + tasks[1].own + tasks[2].own, 7);
  for (const auto& task : tasks) {
    ASSERT_EQ(task.shared.size(), 7U);
    EXPECT_EQ(task.shared[6], 36);
    EXPECT_TRUE(std::isnan(task.shared[3]));
  }
}

TEST(Validation, RefusesASplitOfWhichNothingCanBeRead) {
  const auto solo = make_solo();
  Squares task;
  EXPECT_THROW(validate(task, Numbers(2, {0, 1}), *solo, {}), Error);
}

}  // namespace
}  // namespace larmor::testing

// Cases through the one loop: what is read when, what a bad case costs, and what happens for want of memory.
#include "larmor/judge/case_loop.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"
#include "larmor/judge/validation.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Numbers through a loop, and what became of each.
class CountedCases final : public CaseWork {
 public:
  void run(const std::vector<int64_t>& numbers, const CaseLoopOptions& options) {
    CaseLoop(*this, options).run(numbers);
  }

  std::string name(int64_t number) const override { return "case " + std::to_string(number); }
  ReadCase read(int64_t number) const override {
    read_last = number;
    if (torn.contains(number)) fail(Exit::data, "a torn file");
    const at::Tensor image = at::full({1, number < 4 ? 1 : 2}, number);
    const ExampleKey key{.seed = 3, .example = number};
    return {.number = number, .batch = {.tensors = {{"image", image}}, .keys = {key}}};
  }
  void compute(const ReadCase& one, const FitsInOnePass& fits) override {
    before(one, fits);
    for (const ExampleKey& key : one.batch.keys) {
      if (refused.contains(key.example)) fail(Exit::data, "an odd number");
    }
    computed.emplace_back(one.number, one.batch.size());
  }
  void leave_out(int64_t number, const Error& error) override {
    left_out.emplace_back(number, error.message());
    exits.push_back(error.exit());
  }

  /// How many rows each call computed, by its first case.
  std::vector<std::pair<int64_t, int64_t>> computed;
  std::vector<std::pair<int64_t, std::string>> left_out;
  std::vector<Exit> exits;
  mutable std::atomic<int64_t> read_last{-1};
  std::set<int64_t> torn = {}, refused = {};
  std::function<void(const ReadCase&, const FitsInOnePass&)> before = [](const ReadCase&,
                                                                         const FitsInOnePass&) {};
};

bool comes_true(const std::function<bool()>& is_so) {
  constexpr int most_milliseconds = 10000;
  for (int waited = 0; waited < most_milliseconds && !is_so(); ++waited)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_so();
}

TEST(CaseLoop, ReadsTheNextCaseWhileThisOneIsComputed) {
  CountedCases cases;
  CaseLoop loop(cases, {.ahead = 1});
  std::vector<bool> was_there;
  cases.before = [&](const ReadCase& one, const FitsInOnePass&) {
    const bool is_last = one.number == 2;
    was_there.push_back(is_last || comes_true([&] { return loop.upcoming() != nullptr; }));
    EXPECT_EQ(cases.read_last, is_last ? 2 : one.number + 1) << "one, and no more";
    if (!is_last && was_there.back()) {
      EXPECT_EQ(loop.upcoming()->number, one.number + 1);
    }
  };
  loop.run(std::vector<int64_t>{0, 1, 2});
  EXPECT_THAT(was_there, ElementsAre(true, true, true));
}

TEST(CaseLoop, ReadsNothingAheadWhereItIsNotTold) {
  CountedCases cases;
  CaseLoop loop(cases, {});
  cases.before = [&](const ReadCase& one, const FitsInOnePass&) {
    EXPECT_EQ(loop.upcoming(), nullptr);
    EXPECT_EQ(cases.read_last, one.number);
  };
  loop.run(std::vector<int64_t>{0, 1});
}

TEST(CaseLoop, TakesAnotherCaseThanWasSaidToComeNext) {
  CountedCases cases;
  CaseLoop loop(cases, {.ahead = 1});
  loop.take(0, std::vector<int64_t>{1});
  loop.take(3, {});
  EXPECT_THAT(cases.computed, ElementsAre(Pair(0, 1), Pair(3, 1)));
}

TEST(CaseLoop, LeavesOutAndNamesWhatCannotBeReadOrComputedAndGoesOn) {
  for (const int64_t ahead : {0, 1, 3}) {
    CountedCases cases;
    cases.torn = {0, 3};
    cases.refused = {1};
    cases.run({0, 1, 2, 3, 4}, {.ahead = ahead});
    EXPECT_THAT(cases.computed, ElementsAre(Pair(2, 1), Pair(4, 1)));
    EXPECT_THAT(cases.left_out,
                ElementsAre(Pair(0, "a torn file"), Pair(1, "an odd number"), Pair(3, "a torn file")));
  }
}

TEST(CaseLoop, EndsAtWhatIsNoFaultOfTheCase) {
  CountedCases cases;
  cases.before = [](const ReadCase& one, const FitsInOnePass&) {
    if (one.number == 1) throw std::runtime_error("the device is lost");
  };
  CaseLoop loop(cases, {.ahead = 2});
  EXPECT_THROW(loop.run(std::vector<int64_t>{0, 1, 2}), std::runtime_error);
  EXPECT_EQ(loop.at(), 1);
}

TEST(CaseLoop, GoesInWindowsWhereMemoryRunsOutInOnePassAndSaysSoOnce) {
  CountedCases cases;
  std::vector<bool> fitted;
  cases.before = [&](const ReadCase& one, const FitsInOnePass& fits) {
    fitted.push_back(fits(8));
    if (one.number == 1 && fitted.back()) throw std::bad_alloc();
  };
  ::testing::internal::CaptureStderr();
  cases.run({0, 1, 2}, {});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: case 1: memory ran out in one pass; it goes on in windows\n");
  EXPECT_THAT(fitted, ElementsAre(true, true, false, true));
  EXPECT_THAT(cases.computed, ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1)));
  EXPECT_THAT(cases.left_out, IsEmpty());
}

TEST(CaseLoop, LosesTheCaseWhereTheTaskHasNoWindowsOrTheyAreTooMuchToo) {
  for (const bool has_windows : {false, true}) {
    CountedCases cases;
    int tries = 0;
    cases.before = [&](const ReadCase& one, const FitsInOnePass& fits) {
      if (has_windows) fits(1);
      tries += one.number == 1 ? 1 : 0;
      if (one.number == 1) throw std::bad_alloc();
    };
    cases.run({0, 1, 2}, {});
    EXPECT_EQ(tries, has_windows ? 2 : 1);
    EXPECT_THAT(cases.left_out, ElementsAre(Pair(1, "memory ran out: std::bad_alloc")));
    EXPECT_THAT(cases.exits, ElementsAre(Exit::memory));
  }
}

TEST(CaseLoop, ComputesAlikeCasesTogetherAndEachAloneWhereThatFails) {
  const std::vector<int64_t> numbers{0, 1, 2, 3, 4, 5};  // from 4 on of another shape
  CountedCases whole, odd, narrow;
  whole.run(numbers, {.at_once = 3});
  EXPECT_THAT(whole.computed, ElementsAre(Pair(0, 3), Pair(3, 1), Pair(4, 2)));
  odd.refused = {1};
  odd.run(numbers, {.at_once = 3});
  EXPECT_THAT(odd.computed, ElementsAre(Pair(0, 1), Pair(2, 1), Pair(3, 1), Pair(4, 2)));
  narrow.before = [](const ReadCase& one, const FitsInOnePass&) {
    if (one.batch.size() > 1) throw std::bad_alloc();
  };
  narrow.run(numbers, {.at_once = 3});
  EXPECT_EQ(narrow.computed.size(), 6U);
  EXPECT_THAT(narrow.left_out, IsEmpty());
}

class CountedBeats final : public Heartbeat {
 public:
  void show() override { ++count; }
  std::atomic<int> count{0};

 private:
  HeartbeatScope here_{this};
};

TEST(CaseLoop, SendsAHeartbeatForEachCase) {
  CountedBeats beats;
  CountedCases cases;
  cases.torn = {1};
  cases.run({0, 1, 2}, {.ahead = 1});
  EXPECT_EQ(beats.count, 3);
}

TEST(CaseLoop, DrawsForACaseWhateverItsOrderAndItsRank) {
  const auto drawn = [](const std::vector<int64_t>& numbers, int64_t ahead) {
    std::map<int64_t, double> draws;
    CountedCases cases;
    cases.before = [&](const ReadCase& one, const FitsInOnePass&) {
      const DrawScope scope({.seed = 3, .epochs = {0}, .examples = {one.number}});
      draws[one.number] = draw_normal_like(at::empty({1, 8}), "noise").sum().item<double>();
    };
    cases.run(numbers, {.ahead = ahead});
    return draws;
  };
  auto first = drawn({0, 2, 4}, 1), second = drawn({1, 3}, 0);
  first.merge(second);
  EXPECT_EQ(first, drawn({4, 3, 2, 1, 0}, 2));
}

/// Has memory for windows alone of the images whose number is odd.
class OddInWindows final : public Task {
 public:
  std::vector<Objective> objectives() override { return {}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    const auto example = batch.keys.front().example;
    metrics.value("loss", example, 1);
    if (metrics.fits_in_one_pass(1) && example % 2 == 1) throw std::bad_alloc();
  }
};

/// Of one number each.
class WideNumbers final : public Dataset {
 public:
  int64_t size() const override { return 5; }
  Sample get(const ExampleKey& key) const override { return {{"image", at::full({1}, key.example)}}; }
  std::string name(int64_t example) const override { return std::to_string(example); }
};

TEST(CaseLoop, BringsAValidationThroughWhereMemoryRunsOutInOnePass) {
  auto communicators = make_thread_ranks(2);
  std::vector<ValidationResult> results(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      OddInWindows task;
      results[rank] = validate(task, WideNumbers(), *communicators[rank], {.workers = 1});
    });
  }
  for (auto& thread : threads) thread.join();
  for (const ValidationResult& result : results) {
    EXPECT_THAT(result.metrics.at("loss").per_case,
                ElementsAre(Pair(0, 1), Pair(1, 1), Pair(2, 1), Pair(3, 1), Pair(4, 1)))
        << "what was recorded before memory ran out does not count";
    EXPECT_THAT(result.bad, IsEmpty());
  }
}

}  // namespace
}  // namespace larmor::testing

// One measured step of many networks foretells the memory of others on the CPU.
#include <cmath>

#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/measure/peak_prediction.h"

#include "tests/measure/support/memory_case.h"

namespace larmor::testing {
namespace {

class Tally {
 public:
  void add(const std::string& name, const MeasuredStep& known, const MeasuredStep& actual,
           const ActivationCount& count) {
    const int64_t predicted = predicted_peak(known, count, Precision::fp32, actual.micro_batch);
    const double error = static_cast<double>(predicted) / static_cast<double>(actual.peak()) - 1;
    ++predictions_;
    if (std::abs(error) <= 0.1) return;
    misses_.push_back(text(name, " from ", known.micro_batch, " to ", actual.micro_batch, ": ",
                           std::lround(100 * error), " %"));
  }

  /// In hundredths of all predictions.
  double hits() const {
    return 100 - 100 * static_cast<double>(misses_.size()) / static_cast<double>(predictions_);
  }
  std::string misses() const { return join(misses_, "\n"); }

 private:
  int predictions_ = 0;
  std::vector<std::string> misses_;
};

TEST(PredictedPeak, IsWithinATenthInNineteenCasesOfTwenty) {
  Tally of_several, of_one;
  for (const MemoryCase& which : memory_cases(CaseSize::usual)) {
    const auto counted = count_activations(*which.make_task(), which.example(), which.recompute);
    ASSERT_TRUE(counted) << which.name;
    const auto measured = measure(which, {1, 2, 3, 4});
    for (const MeasuredCase& known : measured) {
      const auto held = static_cast<double>(known.held);
      EXPECT_NEAR(static_cast<double>(counted->held(known.step.micro_batch)), held, 0.01 * held)
          << which.name;
      Tally& tally = known.step.micro_batch == 1 ? of_one : of_several;
      for (const MeasuredCase& other : measured) {
        if (other.step.micro_batch == known.step.micro_batch || other.step.micro_batch == 1) continue;
        tally.add(which.name, known.step, other.step, *counted);
      }
    }
  }
  EXPECT_GE(of_several.hits(), 95) << of_several.misses();
  // One sample of few voxels is convolved otherwise than several.
  EXPECT_GE(of_one.hits(), 90) << of_one.misses();
}

}  // namespace
}  // namespace larmor::testing

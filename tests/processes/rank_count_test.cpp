// Four rank processes train what one trains.
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"
#include "tests/processes/support/weights.h"

namespace larmor::testing {
namespace {

class RankCount : public ::testing::Test {
 protected:
  /// With seed 42 a value of step 6 lies within rounding of the kink of an absolute value or a leaky ReLU,
  /// and in float32 one and two ranks come to lie on either side of it; in float64 they agree with any seed.
  /// The weights after so many steps of plain SGD, adversarial loss included.
  Weights trained(const std::string& run, int ranks, int steps, const std::string& precision) const {
    const ProgramOptions here{.folder = scratch_.path()};
    const auto training = larmor_program(
        {"train", "latent_diffusion", "-c", "tiny", "run.name=" + run, "run.seed=1", "--ranks", text(ranks),
         text("train.length=", steps, "st"), "train.global_batch=4", "train.precision=" + precision,
         "optim.name=sgd", "optim.learning_rate=0.01", "optim.schedule.name=constant",
         "optim.schedule.warmup=0st", "loss.adversarial_start=1"},
        here);
    EXPECT_EQ(training.status, 0) << training.err;
    const auto file = run + ".safetensors";
    const auto exported = larmor_program({"export", run, "--checkpoint", "last", "--output", file}, here);
    EXPECT_EQ(exported.status, 0) << exported.err;
    return read_weights(scratch_.path() / file);
  }

  ScratchFolder scratch_;
};

TEST_F(RankCount, ChangesNoWeightByMoreThanRounding) {
  constexpr double rounding = 1e-6, one_step = 1e-5;
  const auto one = trained("one", 1, 10, "fp32");
  EXPECT_LE(largest_difference(trained("two", 2, 10, "fp32"), one), rounding);
  EXPECT_LE(largest_difference(trained("four", 4, 10, "fp32"), one), rounding);
  EXPECT_GT(largest_difference(trained("shorter", 1, 9, "fp32"), one), one_step)
      << "a difference could not be told";
}

TEST_F(RankCount, ChangesNoWeightInFloat64) {
  constexpr double rounding = 1e-12;
  const auto one = trained("one", 1, 10, "fp64");
  EXPECT_LE(largest_difference(trained("two", 2, 10, "fp64"), one), rounding);
  EXPECT_LE(largest_difference(trained("four", 4, 10, "fp64"), one), rounding);
}

}  // namespace
}  // namespace larmor::testing

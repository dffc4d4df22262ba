#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using testing::mebibyte;
using testing::with_gpus;

constexpr auto mebibytes = static_cast<int64_t>(mebibyte);

TEST(Memory, OfValidationIsInPlaceOfTheActivationsOfAStep) {
  Demand demand = autoencoder();
  const Plan without = make_plan(machine(4, 16), demand, RunConfig{});
  demand.validation_window_bytes = 512 * mebibytes;
  demand.validation_case_bytes = 256 * mebibytes;
  const Plan less = make_plan(machine(4, 16), demand, RunConfig{});
  EXPECT_EQ(less.memory.validation, 768 * mebibytes);
  EXPECT_EQ(less.memory.total(), without.memory.total()) << "a step takes more";
  EXPECT_EQ(less.reasons, without.reasons);
  demand.validation_case_bytes = 4096 * mebibytes;
  const Plan more = make_plan(machine(4, 16), demand, RunConfig{});
  EXPECT_EQ(more.micro_batch, without.micro_batch);
  EXPECT_EQ(more.memory.total(), without.memory.total() + (4608 - 2048) * mebibytes);
  EXPECT_THAT(more.reasons, Contains(HasSubstr("Validation of whole cases decides what a rank needs")));
  EXPECT_THAT(explain(more, machine(4, 16)), HasSubstr("while validating 4.5 GiB in place of activations"));
  EXPECT_EQ(plan_from_json(to_json(more)).memory.validation, more.memory.validation);
  EXPECT_FALSE(to_json(without)["memory"].contains("validation"));
}

TEST(Memory, OfValidationHasTheNextCaseOnAGpuAndNotOnACpu) {
  Demand demand = autoencoder();
  demand.validation_window_bytes = 512 * mebibytes;
  demand.validation_case_bytes = 256 * mebibytes;
  const auto validation = [&](const Hardware& hardware, const char* precision) {
    RunConfig config;
    config.train.precision = precision;
    demand.validation_image_bytes = 0;
    const int64_t without = make_plan(hardware, demand, config).memory.validation;
    demand.validation_image_bytes = 64 * mebibytes;
    return make_plan(hardware, demand, config).memory.validation - without;
  };
  const Hardware gpu = with_gpus(machine(4, 64), 1, "Card", 24 * gibibyte, 8, 0);
  EXPECT_EQ(validation(machine(4, 16), "fp32"), 0);
  EXPECT_EQ(validation(gpu, "fp32"), 64 * mebibytes);
  EXPECT_EQ(validation(gpu, "fp64"), 128 * mebibytes);
}

TEST(Memory, OfSamplingForAPictureIsSaidAsSuch) {
  Demand demand = autoencoder();
  demand.validation_window_bytes = 4096 * mebibytes;
  EXPECT_THAT(make_plan(machine(4, 16), demand, RunConfig{}).reasons,
              Contains(HasSubstr("Sampling for pictures decides what a rank needs: it takes 4 GiB")));
  demand.validation_window_bytes = static_cast<int64_t>(17 * gibibyte);
  try {
    make_plan(machine(4, 16), demand, RunConfig{});
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::memory);
    EXPECT_THAT(error.message(), HasSubstr("to sample an image for a picture a rank needs"));
    EXPECT_THAT(error.hint(), HasSubstr("track.pictures_every=0"));
  }
}

TEST(Memory, OfValidationThatIsTooMuchIsRefusedWithWhatToSay) {
  Demand demand = autoencoder();
  demand.validation_case_bytes = static_cast<int64_t>(17 * gibibyte);
  try {
    make_plan(machine(4, 16), demand, RunConfig{});
    FAIL() << "planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::memory);
    EXPECT_THAT(error.message(), HasSubstr("to validate whole cases in windows a rank needs"));
    EXPECT_THAT(error.hint(), HasSubstr("validation.roi_size"));
  }
}

}  // namespace
}  // namespace larmor

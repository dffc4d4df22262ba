// What a refusal offers to somebody whose model does not fit: each offer, taken up, is accepted.
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/kinds.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using ::testing::Not;
using testing::with_gpus;

/// What is left open is changed by the plan itself (cheapest_fit_test); here it is all asked for.
class Remedies : public testing::Request {
 protected:
  Remedies() {
    config.train.activation_checkpointing = "none";
    config.parallel.offload = "none";
  }
  static Hardware one_card(int gibibytes) {
    return with_gpus(machine(16, 256), 1, "Card", static_cast<uint64_t>(gibibytes) * gibibyte, 8, 0);
  }
};

TEST_F(Remedies, AreRecomputationWhereActivationsAreTheTrouble) {
  demand.activation_bytes_per_sample = int64_t{40} << 30;
  demand.recomputed_bytes_per_sample = int64_t{6} << 30;
  config.train.precision = "fp32";
  const std::string answer = refusal_on(one_card(16));
  EXPECT_THAT(answer, HasSubstr("train.activation_checkpointing=blocks (6.34 GiB)"));
  EXPECT_THAT(answer, Not(HasSubstr("offload")));
  EXPECT_THAT(answer, HasSubstr("examples of at most 34 % of the size"));
  config.train.activation_checkpointing = "blocks";
  EXPECT_EQ(refusal_on(one_card(16)), "accepted");
}

TEST_F(Remedies, AreTheHostWhereStatesAreTheTrouble) {
  demand.optimizer_bytes = int64_t{20} << 30;
  const std::string answer = refusal_on(one_card(16));
  EXPECT_THAT(answer, HasSubstr("parallel.offload=optimizer ("));
  EXPECT_THAT(answer, Not(HasSubstr("activation_checkpointing"))) << "of which nothing was counted";
  config.parallel.offload = "optimizer";
  EXPECT_EQ(refusal_on(one_card(16)), "accepted");
}

TEST_F(Remedies, AreHalfTheWidthWhereTheCardComputesIt) {
  demand.activation_bytes_per_sample = int64_t{20} << 30;
  config.train.precision = "fp32";
  EXPECT_THAT(refusal_on(one_card(16)), HasSubstr("train.precision=bf16 ("));
  Hardware old = one_card(16);
  old.gpus[0].capability_major = 7;
  old.gpus[0].capability_minor = 5;
  EXPECT_THAT(refusal_on(old), HasSubstr("train.precision=fp16 ("));
  config.train.precision = "fp64";
  demand.activation_bytes_per_sample = int64_t{10} << 30;
  EXPECT_THAT(refusal_on(old), HasSubstr("train.precision=fp32 ("));
}

TEST_F(Remedies, AreFewerRanksOnACpuAndMoreOnGpus) {
  demand.activation_bytes_per_sample = int64_t{5} << 30;
  config.parallel.ranks = "4";
  EXPECT_THAT(refusal_on(machine(4, 17)), HasSubstr("parallel.ranks=3 (5.15 GiB)"));
  demand = testing::autoencoder();
  demand.optimizer_bytes = int64_t{80} << 30;
  config.parallel.ranks = "2";
  EXPECT_THAT(refusal_on(four_cards()), HasSubstr("parallel.ranks=4 under parallel.strategy=zero3 ("));
}

TEST_F(Remedies, AreAllTogetherWhereNoneIsEnough) {
  demand.activation_bytes_per_sample = int64_t{64} << 30;
  demand.recomputed_bytes_per_sample = int64_t{20} << 30;
  demand.sectioned_bytes_per_sample = int64_t{18} << 30;
  demand.optimizer_bytes = int64_t{12} << 30;
  config.train.precision = "fp32";
  const std::string answer = refusal_on(one_card(16));
  EXPECT_THAT(answer, HasSubstr("this would fit: train.activation_checkpointing=all train.precision=bf16 "
                                "parallel.offload=optimizer ("));
  config.train.activation_checkpointing = "all";
  config.train.precision = "bf16";
  config.parallel.offload = "optimizer";
  EXPECT_EQ(refusal_on(one_card(16)), "accepted");
}

}  // namespace
}  // namespace larmor

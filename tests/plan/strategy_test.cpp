// How ranks work together, and in what portions gradients travel.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using testing::machine;

class Strategies : public testing::Request {};

TEST_F(Strategies, RefuseSingleWithSeveralRanks) {
  config.parallel.strategy = "single";
  config.parallel.ranks = "2";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: parallel.strategy single runs 1 rank, but parallel.ranks asks for 2 | parallel.strategy=ddp, "
            "or parallel.ranks=1");
}

TEST_F(Strategies, RefuseWordsThatNobodyKnows) {
  config.parallel.strategy = "zero1";
  EXPECT_EQ(refusal_on(machine(4, 16)), "2: parallel.strategy is \"zero1\" | say auto, single or ddp");
}

TEST_F(Strategies, SendGradientsInBucketsOfHalfTheModelAtMost) {
  config.parallel.ranks = "2";
  EXPECT_EQ(plan_on(machine(4, 64)).bucket_bytes, 25 << 20);
  demand.parameters = 1'000'000;
  const Plan plan = plan_on(machine(4, 64));
  EXPECT_EQ(plan.bucket_bytes, 2'002'944);  // 2 000 000 bytes in whole pages
  EXPECT_THAT(
      plan.reasons,
      ::testing::Contains(::testing::HasSubstr("half of the model's 3.81 MiB, so that sending overlaps")));
}

}  // namespace
}  // namespace larmor

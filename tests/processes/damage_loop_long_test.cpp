// Kills at any time and damage between the starts: 240, half of them of runs that keep one checkpoint.
#include "tests/processes/support/damage_loop.h"

namespace larmor::testing {
namespace {

TEST_P(DamageLoop, LosesNothing) { kill_and_damage(/*kills=*/120, /*steps=*/60); }

INSTANTIATE_TEST_SUITE_P(Keeping, DamageLoop, ::testing::Values(1, 2));

}  // namespace
}  // namespace larmor::testing

// Kills at any time and damage between the starts, a few of each. Many: damage_loop_long_test.cpp.
#include "tests/processes/support/damage_loop.h"

namespace larmor::testing {
namespace {

TEST_P(DamageLoop, LosesNothing) { kill_and_damage(/*kills=*/3, /*steps=*/16); }

INSTANTIATE_TEST_SUITE_P(Keeping, DamageLoop, ::testing::Values(1));

}  // namespace
}  // namespace larmor::testing

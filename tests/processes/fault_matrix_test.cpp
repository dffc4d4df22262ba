// What goes wrong, where, in which rank: one cell for each kind of fault. All of them:
// fault_matrix_long_test.cpp.
#include <gtest/gtest.h>

#include "tests/processes/support/rehearsal.h"

namespace larmor::testing {
namespace {

class Death : public Rehearsal {};
TEST_P(Death, IsNamedAndTheRunEndsInTheSameBits) { rehearse_death(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, Death,
                         ::testing::Values(Rehearsed{"kill", "saving", 0},
                                           Rehearsed{"segfault", "computing", 1},
                                           Rehearsed{"exit", "starting", 1}),
                         name_of);

class Hang : public Rehearsal {};
TEST_P(Hang, IsNamedAndTheRunEndsInTheSameBits) { rehearse_hang(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, Hang, ::testing::Values(Rehearsed{"stop", "validating", 1}), name_of);

class FullDisk : public Rehearsal {};
TEST_P(FullDisk, WarnsThenEndsTheRunWhichGoesOnLater) { rehearse_full_disk(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, FullDisk, ::testing::Values(Rehearsed{"full_disk", "computing", 1}),
                         name_of);

}  // namespace
}  // namespace larmor::testing

// What goes wrong, where, in which rank: all of it.
#include <gtest/gtest.h>

#include "tests/processes/support/rehearsal.h"

namespace larmor::testing {
namespace {

std::vector<Rehearsed> cells(const std::vector<std::string>& actions) {
  std::vector<Rehearsed> all;
  for (const auto& action : actions) {
    for (const char* phase : {"starting", "computing", "saving", "validating"}) {
      for (const int rank : {0, 1}) all.push_back({action, phase, rank});
    }
  }
  return all;
}

class Death : public Rehearsal {};
TEST_P(Death, IsNamedAndTheRunEndsInTheSameBits) { rehearse_death(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, Death, ::testing::ValuesIn(cells({"kill", "segfault", "exit"})),
                         name_of);

class Hang : public Rehearsal {};
TEST_P(Hang, IsNamedAndTheRunEndsInTheSameBits) { rehearse_hang(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, Hang, ::testing::ValuesIn(cells({"stop"})), name_of);

class FullDisk : public Rehearsal {};
TEST_P(FullDisk, WarnsThenEndsTheRunWhichGoesOnLater) { rehearse_full_disk(); }
INSTANTIATE_TEST_SUITE_P(FaultMatrix, FullDisk, ::testing::ValuesIn(cells({"full_disk"})), name_of);

}  // namespace
}  // namespace larmor::testing

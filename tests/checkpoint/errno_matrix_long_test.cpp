// Each system call of a save fails, with each errno that storage knows: what was announced stays, the outcome
// is the one that checkpoint.h promises, and the next save succeeds.
#include <cerrno>
#include <iostream>

#include <gtest/gtest.h>

#include "tests/checkpoint/support/disturbed_save.h"

namespace larmor::testing {
namespace {

class WholeErrnoMatrix : public ::testing::TestWithParam<int> {};

TEST_P(WholeErrnoMatrix, LosesNothingAnnounced) {
  DisturbedSave save(GetParam());
  for (const auto& call : save.calls()) {
    for (const int error : {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, EINTR, ESTALE}) {
      for (const bool last : {false, true}) save.disturb(call, error, last);
    }
  }
  std::cout << GetParam() << " ranks: " << save.calls().size() << " calls, " << save.cells() << " cells\n";
  RecordProperty("cells", std::to_string(save.cells()));
  EXPECT_GT(save.cells(), 500U);
}

INSTANTIATE_TEST_SUITE_P(OfRanks, WholeErrnoMatrix, ::testing::Values(1, 2));

}  // namespace
}  // namespace larmor::testing

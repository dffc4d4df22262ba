// Some system calls of a save fail, each with some of the errnos that storage knows; all of them in
// errno_matrix_long_test.cpp.
#include <cerrno>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/support/disturbed_save.h"

namespace larmor::testing {
namespace {

TEST(ErrnoMatrix, SeesTheCallsOfASave) {
  const DisturbedSave save(1);
  std::set<std::string> names;
  for (const auto& call : save.calls()) names.insert(call.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"open", "write", "fsync", "close", "rename", "mkdir", "symlink",
                                              "unlink", "chmod", "statvfs", "list"}));
}

TEST(ErrnoMatrix, OfOneRankLosesNothingAnnounced) {
  constexpr int errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EMFILE, ESTALE};
  DisturbedSave save(1);
  size_t turn = 0;
  for (const auto& call : save.calls()) {
    save.disturb(call, errors[turn % std::size(errors)], /*last=*/turn % 4 == 0);
    ++turn;
  }
}

TEST(ErrnoMatrix, OfOneRankTakesNoNoticeOfSignals) {
  DisturbedSave save(1);
  for (const auto& call : save.calls()) {
    save.disturb(call, EINTR, /*last=*/false);
  }
}

TEST(ErrnoMatrix, OfTwoRanksHasOneOutcomeOnBoth) {
  DisturbedSave save(2);
  for (const auto& call : save.calls()) {
    if (call.path.ends_with("optimizer-1.safetensors"))
      save.disturb(call, EDQUOT, /*last=*/call.name == "fsync");
  }
  EXPECT_GT(save.cells(), 4U);
}

}  // namespace
}  // namespace larmor::testing

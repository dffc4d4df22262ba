// Each operation of a start fails with each error of a storage: the start ends with the status of the
// environment and says why, and the same words start the run once the error is gone.
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

constexpr int environment = 4;

class ErrnoAtTheStart : public ::testing::TestWithParam<const char*> {};

TEST_P(ErrnoAtTheStart, EndsItWithTheReasonAndLeavesTheWayFree) {
  const ScratchFolder scratch;
  const auto words = small_training("mine", 1, 12);
  const auto call = [&](const std::string& fault) {
    return larmor_program(words, {.folder = scratch.path(), .environment = {{"LARMOR_FAIL_POINT", fault}}});
  };
  const std::string error = GetParam();
  int cells = 0;
  // Until the storage of a start has no such operation that many times: then it trains and saves.
  for (const auto* operation :
       {"create_folders", "create", "write", "sync", "rename", "sync_folder", "link"}) {
    for (const int nth : {1, 2, 3, 5}) {
      SCOPED_TRACE(text(operation, ":", nth, ":", error));
      std::filesystem::remove_all(scratch.path() / "runs");
      const auto end = call(text(operation, ":", nth, ":", error));
      if (end.status == 0) break;
      EXPECT_EQ(end.status, environment) << end.err;
      EXPECT_THAT(end.err, HasSubstr("(LARMOR_FAIL_POINT)"));
      ++cells;
    }
    const auto again = call("");
    EXPECT_EQ(again.status, 0) << "after " << operation << '\n' << again.err;
  }
  std::cout << error << ": " << cells << " cells\n";
  EXPECT_GT(cells, 15);
}

INSTANTIATE_TEST_SUITE_P(WithEach, ErrnoAtTheStart,
                         ::testing::Values("io", "full", "quota", "readonly", "files", "stale"),
                         [](const auto& cell) { return std::string(cell.param); });

}  // namespace
}  // namespace larmor::testing

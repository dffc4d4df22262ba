// Types of watch that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "larmor/watch/status_board.h"
#include "larmor/watch/symbol_names.h"

namespace larmor {
namespace {

TEST(FailingStarts, OfBoardsLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([] { StatusBoard(2); });
  ::setenv("LARMOR_STATUS_FD", "4711", 1);
  testing::expect_nothing_left([] { StatusBoard::from_environment(0, 2); });
  ::unsetenv("LARMOR_STATUS_FD");
}

TEST(FailingStarts, OfSymbolNamesLeaveNothing) {
  const testing::Held before = testing::Held::now();
  for (int i = 0; i < 20; ++i) {
    const testing::DescriptorLimit none(0);
    const SymbolNames names;  // goes without them
  }
  EXPECT_EQ(testing::Held::now(), before);
}

}  // namespace
}  // namespace larmor

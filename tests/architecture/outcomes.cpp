// Tests of every outcome, for the self-test of tools/test_summary.py: it chooses among them and looks at what
// ctest makes of each choice. They are no tests of larmor, and ctest does not run them.
#include <cstdlib>

#include <gtest/gtest.h>

namespace {

TEST(Passed, One) {}
TEST(Failed, One) { FAIL() << "on purpose"; }
TEST(SkippedInside, ItsBody) { GTEST_SKIP() << "no launcher"; }

class Skipped : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_SKIP() << "no root"; }
};
TEST_F(Skipped, BeforeItsBody) {}

TEST(Crashed, One) { std::abort(); }

}  // namespace

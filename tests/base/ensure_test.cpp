#include "larmor/base/ensure.h"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(Ensure, LetsPassWhatHolds) { EXPECT_NO_THROW(ensure(1 + 1 == 2)); }

TEST(Ensure, NamesThePlaceWhereAnAssumptionDoesNotHold) {
  try {
    ensure(1 + 1 == 3);
    FAIL() << "ensure() let a broken assumption pass";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("ensure_test.cpp:"));
  }
}

}  // namespace
}  // namespace larmor

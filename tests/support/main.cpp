// main of every test binary: that of gtest, and a status of its own where each chosen test was skipped,
// because gtest's says "passed" then and ctest counts it so. ctest reads the status (SKIP_RETURN_CODE in
// cmake/layer.cmake). Plans of tests do not depend on how busy the machine is.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

int main(int count, char** words) {
  constexpr int all_skipped = 77;  // what automake and meson agree on
  setenv("LARMOR_FREE_CORES", "all", /*overwrite=*/0);
  ::testing::InitGoogleMock(&count, words);
  const int status = RUN_ALL_TESTS();
  const auto& tests = *::testing::UnitTest::GetInstance();
  const bool nothing_else = tests.successful_test_count() == 0 && tests.failed_test_count() == 0;
  return status == 0 && nothing_else && tests.skipped_test_count() > 0 ? all_skipped : status;
}

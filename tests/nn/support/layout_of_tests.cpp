// LARMOR_TEST_LAYOUT=channels_last: all tests of this program compute in that layout.
#include <cstdlib>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "larmor/device/layout.h"

namespace larmor::testing {
namespace {

class LayoutOfTests final : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* const asked = std::getenv("LARMOR_TEST_LAYOUT");
    if (asked == nullptr) return;
    ASSERT_EQ(std::string_view(asked), to_text(Layout::channels_last)) << "LARMOR_TEST_LAYOUT";
    scope_.emplace(Layout::channels_last);
  }
  void TearDown() override { scope_.reset(); }

 private:
  std::optional<LayoutScope> scope_;
};

[[maybe_unused]] const auto* const layout_of_tests = ::testing::AddGlobalTestEnvironment(new LayoutOfTests);

}  // namespace
}  // namespace larmor::testing

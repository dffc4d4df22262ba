#include "larmor/base/files/user_cache.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace larmor {
namespace {

class UserCache : public ::testing::Test {
 protected:
  void TearDown() override {
    set("XDG_CACHE_HOME", cache_);
    set("HOME", home_);
  }
  static void set(const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }

 private:
  static std::optional<std::string> variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  const std::optional<std::string> cache_ = variable("XDG_CACHE_HOME"), home_ = variable("HOME");
};

TEST_F(UserCache, LiesWhereTheVariableSaysOrElseInTheHomeFolder) {
  set("XDG_CACHE_HOME", "/caches");
  set("HOME", "/home/one");
  EXPECT_EQ(user_cache_folder(), "/caches/larmor");
  for (const std::optional<std::string>& none : {std::optional<std::string>(), {""}, {"relative"}}) {
    set("XDG_CACHE_HOME", none);
    EXPECT_EQ(user_cache_folder(), "/home/one/.cache/larmor");
  }
}

TEST_F(UserCache, IsNowhereWhereNeitherNamesAnAbsolutePath) {
  set("XDG_CACHE_HOME", "relative");
  set("HOME", std::nullopt);
  EXPECT_TRUE(user_cache_folder().empty());
}

}  // namespace
}  // namespace larmor

#include "larmor/services/service.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/services/environment.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;

/// A variable of the environment for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_)
      ::setenv(name_, before_->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST(TrackingService, IsFoundByTheBuild) {
  std::vector<std::string> names;
  for (const auto& service : services()) {
    names.push_back(service.name);
    const auto has_switch = [&](const ServiceKey& key) { return service.turned_on_by == key.name; };
    EXPECT_TRUE(std::ranges::any_of(service.keys, has_switch)) << service.name;
  }
  EXPECT_THAT(names, ElementsAre("mlflow", "trackio", "wandb"));
}

TEST(TrackingService, IsSetByTheConfigurationBeforeTheEnvironment) {
  const auto& wandb = service_named("wandb");
  EXPECT_EQ(settings_of(wandb, {}).at("mode"), "online");
  const Variable mode("WANDB_MODE", "offline");
  EXPECT_EQ(settings_of(wandb, {}).at("mode"), "offline");
  EXPECT_EQ(settings_of(wandb, {{"mode", "online"}}).at("mode"), "online");
}

TEST(TrackingService, IsTurnedOnByTheConfigurationAlone) {
  const auto& wandb = service_named("wandb");
  EXPECT_FALSE(wandb.is_on(settings_of(wandb, {{"enabled", "false"}, {"project", "p"}})));
  EXPECT_TRUE(wandb.is_on(settings_of(wandb, {{"enabled", "true"}})));
  const Variable off("WANDB_MODE", "disabled");
  EXPECT_FALSE(wandb.is_on(settings_of(wandb, {{"enabled", "true"}})));
}

TEST(ValueAtHome, IsReadBelowItsSection) {
  const ScratchFolder home;
  DiskStorage storage;
  write_text(storage, home.path() / "keys", "[other]\nname = wrong\n[mlflow]\nname = right \n");
  const Variable variable("HOME", home.path().string());
  EXPECT_EQ(value_at_home("keys", "mlflow", "name"), "right");
  EXPECT_EQ(value_at_home("keys", "mlflow", "password"), "");
  EXPECT_EQ(value_at_home("none", "mlflow", "name"), "");
}

}  // namespace
}  // namespace larmor::testing

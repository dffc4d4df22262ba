// The script that speaks to the package wandb, with a package that writes down what it is told.
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/services/service.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* package = R"(
import json, os
print("words of the package are no answers")
def note(*words):
    with open(os.environ["TOLD"], "a") as file:
        file.write(json.dumps(words).replace("NaN", '"nan"') + "\n")
class errors:
    class AuthenticationError(Exception): pass
    class UsageError(Exception): pass
class Settings:
    def __init__(self, **settings): pass
class Config:
    def update(self, values, allow_val_change): note("config", values)
class Run:
    url, dir, config = None, "/there", Config()
    def define_metric(self, name, step_metric=None): pass
    def log(self, values): note("log", values)
    def finish(self, exit_code=0): note("finish", exit_code)
def Image(file): return "image of " + os.path.basename(file)
def init(**words):
    words.pop("settings")
    if words["project"] == "refused": raise errors.AuthenticationError("no key")
    if words["project"] == "broken": raise OSError("no network")
    note("init", words)
    return Run()
)";

class WandbService : public ::testing::Test {
 protected:
  WandbService() {
    std::signal(SIGPIPE, SIG_IGN);  // as main() does
    std::filesystem::create_directories(folder_.path() / "wandb");
    DiskStorage storage;
    write_text(storage, folder_.path() / "wandb" / "__init__.py", package);
    ::setenv("PYTHONPATH", folder_.path().c_str(), 1);
    ::setenv("TOLD", (folder_.path() / "told").c_str(), 1);
  }
  ~WandbService() override {
    for (const char* const name : {"PYTHONPATH", "TOLD", "LARMOR_PYTHON"}) ::unsetenv(name);
  }

  static std::unique_ptr<ServiceRun> opened(const std::string& project = "heads") {
    const auto& service = service_named("wandb");
    return service.open(settings_of(service, {{"project", project}, {"tags", "a,b"}, {"mode", "offline"}}),
                        {.key = "0123456789abcdef",
                         .name = "a-run",
                         .folder = "/runs/a-run",
                         .keys = {{"train.length", "3ep"}},
                         .facts = {{"stage", "autoencoder"}}});
  }
  std::vector<Json> told() const {
    std::vector<Json> all;
    for (const auto& line : split(read_text(folder_.path() / "told"), '\n')) {
      if (!line.empty()) all.push_back(Json::parse(line));
    }
    return all;
  }

  ScratchFolder folder_;
};

TEST_F(WandbService, HandsARunToThePackage) {
  {
    const auto run = opened();
    EXPECT_EQ(run->place(), "/there");
    run->send({{SentEvent{.time = 5, .step = 3, .values = {{"train/loss", 0.5}, {"x", std::nullopt}}}}});
    run->send({.name = "samples", .step = 4, .file = "/p/s.png"});
    run->tell(RunState::failed);
  }
  const auto all = told();
  EXPECT_EQ(all[0][1]["id"], "0123456789abcdef");
  EXPECT_EQ(all[0][1]["tags"], (Json{"a", "b"}));
  EXPECT_EQ(all[1][1]["train.length"], "3ep");
  EXPECT_EQ(all[2].dump(),
            R"(["log",{"global_step":3.0,"epoch":0.0,"time":5.0,"train/loss":0.5,"x":"nan"}])");
  EXPECT_EQ(all[3][1]["samples"], "image of s.png");
  EXPECT_EQ(all[4], (Json{"finish", 1}));
}

TEST_F(WandbService, FinishesWhatItWasGivenWhereTheSenderEnds) {
  opened().reset();
  for (int tries = 0; told().back()[0] != "finish" && tries < 500; ++tries) system_clock().sleep(0.01);
  EXPECT_EQ(told().back(), (Json{"finish", 0}));
}

TEST_F(WandbService, TellsRefusalFromSilence) {
  try {
    opened("refused");
    FAIL() << "the key is refused";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("W&B refuses: no key"));
  }
  EXPECT_THROW(opened("broken"), ServiceUnreachable);
}

TEST_F(WandbService, SaysWhichPythonLacksThePackage) {
  std::filesystem::remove_all(folder_.path() / "wandb");
  DiskStorage storage;
  write_text(storage, folder_.path() / "wandb.py", "raise ImportError('no module of that name')\n");
  try {
    opened();
    FAIL() << "there is no package";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("has no package wandb: no module of that name"));
    EXPECT_THAT(error.hint(), HasSubstr("LARMOR_PYTHON"));
  }
  ::setenv("LARMOR_PYTHON", "no-such-python", 1);
  EXPECT_THROW(opened(), std::exception);
}

}  // namespace
}  // namespace larmor::testing

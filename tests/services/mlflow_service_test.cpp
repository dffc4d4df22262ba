#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/services/service.h"

#include "tests/services/support/small_mlflow.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

RunIntroduction introduction() {
  return {.key = "0123456789abcdef",
          .name = "a-run",
          .began = 5,
          .keys = {{"train.length", "3ep"}, {"loss.weights", std::string(900, 'x')}},
          .facts = {{"workload", "survival"}, {"host", "h"}}};
}

std::unique_ptr<ServiceRun> opened(const SmallMlflow& mlflow) {
  const auto& service = service_named("mlflow");
  const auto settings = settings_of(service, {{"uri", mlflow.server.address()}});
  service.check(settings);
  return service.open(settings, introduction());
}

TEST(MlflowService, MakesOneRunHoweverOftenItIsOpened) {
  SmallMlflow mlflow;
  EXPECT_EQ(opened(mlflow)->place(), text(mlflow.server.address(), "/#/experiments/7/runs/r1"));
  EXPECT_EQ(mlflow.params.size(), 2U);
  opened(mlflow);
  EXPECT_EQ(mlflow.runs.size(), 1U);
  EXPECT_EQ(mlflow.params.size(), 2U) << "a parameter cannot be said again";
  EXPECT_LE(mlflow.params[0]["value"].get<std::string>().size(), 500U);
}

TEST(MlflowService, SendsNumbersWithTheirStepsAndTimes) {
  SmallMlflow mlflow;
  const auto run = opened(mlflow);
  const SentEvent event{.time = 12.5,
                        .step = 3,
                        .kind = "validation",
                        .values = {{"val/auroc@Pleural Effusion", 0.5}, {"val/loss", std::nullopt}}};
  run->send({{event}});
  EXPECT_EQ(mlflow.metrics[0],
            (Json{{"key", "val/auroc_Pleural Effusion"}, {"value", 0.5}, {"timestamp", 12500}, {"step", 3}}));
  EXPECT_EQ(mlflow.metrics[1]["value"], "NaN");
  run->tell(RunState::failed);
  EXPECT_EQ(mlflow.status, "FAILED");
}

TEST(MlflowService, SendsNoMoreThanAThousandNumbersAtOnce) {
  SmallMlflow mlflow;
  const auto run = opened(mlflow);
  std::vector<SentEvent> events(250);
  for (auto& event : events) {
    for (int i = 0; i < 10; ++i) event.values.emplace_back(text("v", i), i);
  }
  run->send(events);
  EXPECT_EQ(mlflow.metrics.size(), 2500U);
  for (const auto& asked : mlflow.server.asked()) {
    const auto body = Json::parse(asked.body, nullptr, false);
    if (!body.is_object()) continue;
    EXPECT_LE(body.value("metrics", Json::array()).size(), 1000U);
  }
}

TEST(MlflowService, PutsPicturesWhereTheServerKeepsFiles) {
  SmallMlflow mlflow;
  const ScratchFolder folder;
  DiskStorage storage;
  write_text(storage, folder.path() / "p.png", "png");
  opened(mlflow)->send({.name = "samples", .step = 12, .file = folder.path() / "p.png"});
  EXPECT_THAT(mlflow.pictures[0].get<std::string>(),
              HasSubstr("/api/2.0/mlflow-artifacts/artifacts/7/r1/artifacts/pictures/samples-12.png"));
}

TEST(MlflowService, IsNotAskedWithoutAnAddress) {
  const auto& service = service_named("mlflow");
  EXPECT_FALSE(service.is_on(settings_of(service, {})));
  EXPECT_THROW(service.check(settings_of(service, {})), Error);
  try {
    service_named("mlfow");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.hint(), HasSubstr("did you mean mlflow?"));
  }
}

}  // namespace
}  // namespace larmor::testing

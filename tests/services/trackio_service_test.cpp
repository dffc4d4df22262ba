#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/services/service.h"

#include "tests/services/support/http_server.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

HttpAnswer answer_of_trackio(const HttpAsked& asked) {
  if (asked.path == "/version") return {200, R"({"version": "0.43.0", "api_version": 1})"};
  if (asked.path == "/api/upload") return {200, R"({"paths": ["/tmp/staged.png"]})"};
  if (asked.headers.contains("x-trackio-write-token")) return {200, R"({"data": null})"};
  return {400, R"({"error": "A write_token is required"})"};
}

class TrackioService : public ::testing::Test {
 protected:
  TrackioService() { ::setenv("TRACKIO_WRITE_TOKEN", "secret", 1); }
  ~TrackioService() override { ::unsetenv("TRACKIO_WRITE_TOKEN"); }

  std::unique_ptr<ServiceRun> opened() {
    const auto& service = service_named("trackio");
    return service.open(settings_of(service, {{"uri", server_.address()}}),
                        {.key = "0123456789abcdef", .name = "a-run", .facts = {{"workload", "survival"}}});
  }
  Json last_call() const { return Json::parse(server_.asked().back().body).at("kwargs"); }

  HttpServer server_{answer_of_trackio};
};

TEST_F(TrackioService, NamesALineByItsPlaceSoThatItIsThereOnce) {
  const auto run = opened();
  run->send({{SentEvent{
      .place = 512, .step = 3, .kind = "step", .values = {{"train/loss", 0.5}, {"x", std::nullopt}}}}});
  const auto log = last_call().at("logs").at(0);
  EXPECT_EQ(log.at("log_id"), "0123456789abcdef-512");
  EXPECT_EQ(log.at("project"), "survival");
  EXPECT_EQ(log.at("step"), 3);
  EXPECT_EQ(log.at("metrics"), (Json{{"train/loss", 0.5}, {"x", "NaN"}}));
}

TEST_F(TrackioService, RaisesAnAlertForAWarning) {
  const auto run = opened();
  run->send({{SentEvent{.place = 7, .step = 3, .kind = "warning", .words = "a case is bad"}}});
  EXPECT_EQ(last_call().at("alerts").at(0).at("text"), "a case is bad");
  EXPECT_EQ(server_.asked().back().path, "/api/bulk_alert");
}

TEST_F(TrackioService, StagesAPictureAndShowsItAtItsStep) {
  const ScratchFolder folder;
  DiskStorage storage;
  write_text(storage, folder.path() / "p.png", "png");
  opened()->send({.name = "samples", .step = 12, .file = folder.path() / "p.png"});
  const auto log = last_call().at("logs").at(0);
  EXPECT_EQ(log.at("metrics").at("samples").at("file_path"), "survival/a-run/12/samples-12.png");
}

TEST_F(TrackioService, SaysWhichTokenIsMissing) {
  ::unsetenv("TRACKIO_WRITE_TOKEN");
  try {
    opened()->send({{SentEvent{.kind = "step", .values = {{"a", 1}}}}});
    FAIL() << "the server has refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("A write_token is required"));
  }
}

}  // namespace
}  // namespace larmor::testing

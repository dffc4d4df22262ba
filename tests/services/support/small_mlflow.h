// As much of an MLflow server as a sender speaks to.
#pragma once

#include <atomic>
#include <string>

#include "larmor/base/json.h"

#include "tests/services/support/http_server.h"

namespace larmor::testing {

/// Keeps what it is told; to be read while nobody asks it anything.
class SmallMlflow {
 public:
  /// How many of its answers are to be an error of the server, from now on.
  std::atomic<int> failures{0};
  HttpServer server{[this](const HttpAsked& asked) { return answer(asked); }};
  Json runs = Json::array(), metrics = Json::array(), params = Json::array(), pictures = Json::array();
  std::string status;

 private:
  HttpAnswer answer(const HttpAsked& asked) {
    if (failures > 0) return --failures, HttpAnswer{503, "later"};
    const auto is = [&](const char* what) { return asked.path.find(what) != std::string::npos; };
    const auto body = Json::parse(asked.body, nullptr, false);
    if (is("get-by-name")) return {404, R"({"error_code": "RESOURCE_DOES_NOT_EXIST"})"};
    if (is("experiments/create")) return {200, R"({"experiment_id": "7"})"};
    if (is("runs/search")) return {200, Json{{"runs", runs}}.dump()};
    if (is("runs/create")) {
      runs.push_back({{"info", {{"run_id", "r1"}, {"artifact_uri", "mlflow-artifacts:/7/r1/artifacts"}}},
                      {"data", {{"params", params}}}});
      return {200, Json{{"run", runs.front()}}.dump()};
    }
    if (is("runs/log-batch")) {
      for (const auto& one : body.value("metrics", Json::array())) metrics.push_back(one);
      for (const auto& one : body.value("params", Json::array())) params.push_back(one);
      if (!runs.empty()) runs[0]["data"]["params"] = params;
    }
    if (is("runs/update")) status = body.at("status");
    if (is("mlflow-artifacts/artifacts")) pictures.push_back(asked.path);
    return {};
  }
};

}  // namespace larmor::testing

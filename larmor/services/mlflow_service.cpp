// MLflow by its REST interface (https://mlflow.org/docs/latest/rest-api.html), tried with version 3.17.
#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/services/environment.h"
#include "larmor/services/http.h"
#include "larmor/services/service.h"

namespace larmor {

namespace {

constexpr std::string_view api = "/api/2.0/mlflow/";
constexpr const char* uri_key = "track.mlflow.uri";
constexpr size_t most_metrics = 1000, most_others = 100;  // in a request
constexpr size_t most_letters = 500;                      // of a value, in versions before 2.8
constexpr double milliseconds = 1e3;

/// Names may hold letters, digits and a few signs.
std::string mlflow_name(const std::string& name) {
  auto safe = name;
  for (char& letter : safe) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') ||
                          std::string_view("_-. :/").find(letter) != std::string_view::npos;
    if (!is_plain) letter = '_';
  }
  return safe;
}

std::string mlflow_value(const std::string& value) {
  if (value.size() <= most_letters) return value;
  auto end = most_letters - 3;
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U) --end;  // no letter is cut
  return value.substr(0, end) + "…";
}

int64_t milliseconds_of(double seconds) { return std::llround(seconds * milliseconds); }

HttpSecrets mlflow_secrets() {
  HttpSecrets secrets;
  if (const auto token = variable("MLFLOW_TRACKING_TOKEN"); !token.empty())
    secrets.headers.push_back("Authorization: Bearer " + token);
  const auto variable_or_file = [](const char* name) {
    const auto value = variable(name);
    return value.empty() ? value_at_home(".mlflow/credentials", "mlflow", lower(name)) : value;
  };
  secrets.user = variable_or_file("MLFLOW_TRACKING_USERNAME");
  secrets.password = variable_or_file("MLFLOW_TRACKING_PASSWORD");
  const auto insecure = variable("MLFLOW_TRACKING_INSECURE_TLS");
  secrets.accepts_any_certificate = insecure == "true" || insecure == "1";
  secrets.certificates = variable("MLFLOW_TRACKING_SERVER_CERT_PATH");
  return secrets;
}

class MlflowRun final : public ServiceRun {
 public:
  MlflowRun(const ServiceSettings& settings, const RunIntroduction& run)
      : client_(HttpAddress::parse(settings.at("uri"), uri_key), mlflow_secrets()),
        sends_pictures_(settings.at("pictures") != "false") {
    const auto& given = settings.at("experiment");
    const auto workload = run.facts.find("workload");
    experiment_ = experiment_named(!given.empty()                ? given
                                   : workload != run.facts.end() ? workload->second
                                                                 : "larmor");
    const Json found = find_or_create(run);
    id_ = found.at("info").at("run_id");
    artifacts_ = found.at("info").value("artifact_uri", "");
    tell_keys(run, found);
  }

  std::string place() const override {
    return text(client_.address().base, "/#/experiments/", experiment_, "/runs/", id_);
  }

  void send(std::span<const SentEvent> events) override {
    Json metrics = Json::array();
    std::string last;
    for (const auto& event : events) {
      if (!event.words.empty()) last = text(event.kind, ": ", event.words);
      for (const auto& [name, value] : event.values) {
        metrics.push_back({{"key", mlflow_name(name)},
                           {"value", value ? Json(*value) : Json("NaN")},
                           {"timestamp", milliseconds_of(event.time)},
                           {"step", event.step}});
        if (metrics.size() == most_metrics) log_batch({{"metrics", std::exchange(metrics, Json::array())}});
      }
    }
    if (!metrics.empty()) log_batch({{"metrics", metrics}});
    if (!last.empty())
      log_batch({{"tags", Json::array({{{"key", "larmor.last_event"}, {"value", mlflow_value(last)}}})}});
  }

  void send(const SentPicture& picture) override {
    constexpr std::string_view proxied = "mlflow-artifacts:/";
    if (!sends_pictures_) return;
    if (!artifacts_.starts_with(proxied)) {
      if (!std::exchange(has_said_, true))
        log::warning(text("pictures are not sent: the server keeps the files of this experiment at ",
                          artifacts_,
                          ", which it does not take for others; start it with --serve-artifacts"));
      return;
    }
    // "mlflow-artifacts://host/…" names the server, which is the one that is asked.
    auto path = artifacts_.substr(proxied.size() - 1);
    if (path.starts_with("//")) path = path.substr(std::min(path.find('/', 2), path.size()));
    client_.ask({.method = "PUT",
                 .path = text("/api/2.0/mlflow-artifacts/artifacts", path, "/pictures/",
                              in_path(text(picture.name, "-", picture.step, ".png"))),
                 .body = read_text(picture.file),
                 .type = "image/png"});
  }

  void tell(RunState state) override {
    const auto* const word = state == RunState::training ? "RUNNING"
                             : state == RunState::done   ? "FINISHED"
                             : state == RunState::failed ? "FAILED"
                                                         : "KILLED";
    Json update = {{"run_id", id_}, {"status", word}};
    if (state != RunState::training) update["end_time"] = milliseconds_of(system_clock().wall_seconds());
    post("runs/update", update);
  }

 private:
  Json post(const std::string& what, const Json& body) {
    return client_
        .ask({.path = text(api, what), .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)})
        .json();
  }

  void log_batch(Json body) {
    body["run_id"] = id_;
    post("runs/log-batch", body);
  }

  std::optional<std::string> known_experiment(const std::string& name) {
    constexpr long not_found = 404;
    const HttpRequest request{.method = "GET",
                              .path = text(api, "experiments/get-by-name?experiment_name=", in_path(name))};
    const auto reply = client_.send(request);
    if (reply.status == not_found && reply.body.find("RESOURCE_DOES_NOT_EXIST") != std::string::npos)
      return std::nullopt;
    return client_.ask(request).json().at("experiment").at("experiment_id").get<std::string>();
  }

  std::string experiment_named(const std::string& name) {
    if (const auto known = known_experiment(name)) return *known;
    constexpr long conflict = 400;
    const auto reply =
        client_.send({.path = text(api, "experiments/create"), .body = Json{{"name", name}}.dump()});
    // Another sender may have made it in the meantime.
    if (reply.status >= conflict) {
      if (const auto known = known_experiment(name)) return *known;
    }
    return reply.json().at("experiment_id");
  }

  Json find_or_create(const RunIntroduction& run) {
    const auto found = post("runs/search", {{"experiment_ids", {experiment_}},
                                            {"filter", text("tags.`larmor.key` = '", run.key, "'")},
                                            {"run_view_type", "ALL"},
                                            {"max_results", 1}});
    if (const auto runs = found.find("runs"); runs != found.end() && !runs->empty()) return runs->front();
    const auto tags = Json::array(
        {{{"key", "larmor.key"}, {"value", run.key}}, {{"key", "mlflow.source.name"}, {"value", "larmor"}}});
    return post("runs/create", {{"experiment_id", experiment_},
                                {"run_name", run.name},
                                {"start_time", milliseconds_of(run.began)},
                                {"tags", tags}})
        .at("run");
  }

  /// A parameter cannot be changed: those that the run has already stay as they were at its first start.
  void tell_keys(const RunIntroduction& run, const Json& found) {
    std::vector<std::string> known;
    const auto data = found.value("data", Json::object());
    for (const auto& one : data.value("params", Json::array())) known.push_back(one.at("key"));
    Json params = Json::array(), tags = Json::array();
    for (const auto& [key, value] : run.keys) {
      if (std::ranges::find(known, mlflow_name(key)) == known.end())
        params.push_back({{"key", mlflow_name(key)}, {"value", mlflow_value(value)}});
    }
    for (const auto& [name, value] : run.facts)
      tags.push_back({{"key", mlflow_name("larmor." + name)}, {"value", mlflow_value(value)}});
    send_parts("params", params);
    send_parts("tags", tags);
  }

  void send_parts(const char* what, const Json& all) {
    for (size_t first = 0; first < all.size(); first += most_others) {
      Json part = Json::array();
      for (size_t i = first; i < std::min(all.size(), first + most_others); ++i) part.push_back(all[i]);
      log_batch({{what, part}});
    }
  }

  HttpClient client_;
  bool sends_pictures_;
  bool has_said_ = false;
  std::string experiment_, id_, artifacts_;
};

}  // namespace

TrackingService make_mlflow_service() {
  using enum ServiceKey::Kind;
  return {.name = "mlflow",
          .title = "MLflow",
          .keys = {{.name = "uri",
                    .help = "address of an MLflow server that the run is sent to as it trains; \"\": none",
                    .variable = "MLFLOW_TRACKING_URI"},
                   {.name = "experiment",
                    .help = "experiment there; \"\": the workload's name",
                    .variable = "MLFLOW_EXPERIMENT_NAME"},
                   {.name = "pictures", .help = "send pictures too", .kind = yes_no, .otherwise = "true"}},
          .turned_on_by = "uri",
          .check =
              [](const ServiceSettings& settings) {
                require(!settings.at("uri").empty(), Exit::usage, "MLflow needs the address of its server",
                        "track.mlflow.uri=http://HOST:PORT, or MLFLOW_TRACKING_URI in the environment");
                HttpAddress::parse(settings.at("uri"), uri_key);
              },
          .open = [](const ServiceSettings& settings,
                     const RunIntroduction& run) { return std::make_unique<MlflowRun>(settings, run); }};
}

}  // namespace larmor

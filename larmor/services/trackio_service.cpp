// Trackio by the HTTP interface of its own server (version 1, tried with Trackio 0.43).
#include <cmath>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/services/environment.h"
#include "larmor/services/http.h"
#include "larmor/services/service.h"

namespace larmor {

namespace {

constexpr const char* trackio_uri_key = "track.trackio.uri";

HttpSecrets trackio_secrets(const HttpAddress& address) {
  HttpSecrets secrets;
  if (const auto token = variable("TRACKIO_WRITE_TOKEN"); !token.empty())
    secrets.headers.push_back("x-trackio-write-token: " + token);
  // The token of Hugging Face is for its own hosts alone.
  const auto token_of_spaces = address.base.ends_with(".hf.space") ? variable("HF_TOKEN") : std::string();
  if (!token_of_spaces.empty()) secrets.headers.push_back("Authorization: Bearer " + token_of_spaces);
  return secrets;
}

HttpClient client_for(const HttpAddress& address) { return {address, trackio_secrets(address)}; }

class TrackioRun final : public ServiceRun {
 public:
  TrackioRun(const ServiceSettings& settings, const RunIntroduction& run)
      : client_(client_for(HttpAddress::parse(settings.at("uri"), trackio_uri_key))),
        sends_pictures_(settings.at("pictures") != "false"),
        key_(run.key),
        name_(run.name) {
    const auto version = client_.ask({.method = "GET", .path = "/version"}).json();
    if (version.value("api_version", 0) != 1)
      fail(Exit::environment,
           text(client_.address().base, " speaks no version of Trackio's interface that is known here"),
           "version 0.43 of Trackio does");
    const auto workload = run.facts.find("workload");
    project_ = settings.at("project");
    if (project_.empty()) project_ = workload != run.facts.end() ? workload->second : "larmor";
    for (const auto& [key, value] : run.keys) config_[key] = value;
    for (const auto& [name, value] : run.facts) config_[text("larmor/", name)] = value;
    config_["_Created"] = utc_text(run.began);
    config_["_Username"] = variable("USER");
    config_["_Group"] = nullptr;
  }

  std::string place() const override { return text(client_.address().base, "/?project=", in_path(project_)); }

  void send(std::span<const SentEvent> events) override {
    Json logs = Json::array(), alerts = Json::array();
    for (const auto& event : events) {
      if (!event.values.empty()) logs.push_back(log_of(event));
      if (event.kind == "warning") alerts.push_back(alert_of(event));
    }
    if (!logs.empty()) call("bulk_log", {{"logs", logs}, {"hf_token", nullptr}});
    if (!alerts.empty()) call("bulk_alert", {{"alerts", alerts}, {"hf_token", nullptr}});
  }

  void send(const SentPicture& picture) override {
    if (!sends_pictures_) return;
    const auto file = text(in_path(picture.name), "-", picture.step, ".png");
    const auto staged =
        client_
            .ask({.path = "/api/upload",
                  .form = {{.field = "files", .name = file, .bytes = read_text(picture.file)}}})
            .json();
    const Json uploaded = {
        {"path", staged.at("paths").at(0)}, {"orig_name", file}, {"meta", {{"_type", "gradio.FileData"}}}};
    const Json upload = {{"project", project_},      {"run", name_},
                         {"run_id", key_},           {"step", picture.step},
                         {"relative_path", nullptr}, {"uploaded_file", uploaded}};
    call("bulk_upload_media", {{"uploads", Json::array({upload})}, {"hf_token", nullptr}});
    Json log = common();
    log["step"] = picture.step;
    log["log_id"] = text(key_, "-", picture.name, "-", picture.step);
    log["metrics"][picture.name] = {{"_type", "trackio.image"},
                                    {"file_path", text(project_, "/", name_, "/", picture.step, "/", file)},
                                    {"caption", picture.name}};
    call("bulk_log", {{"logs", Json::array({log})}, {"hf_token", nullptr}});
  }

  /// It has no states.
  void tell(RunState) override {}

 private:
  Json common() const {
    return {{"project", project_}, {"run", name_}, {"run_id", key_}, {"config", config_}};
  }

  Json log_of(const SentEvent& event) const {
    Json log = common();
    log["step"] = event.step;
    log["log_id"] = text(key_, "-", event.place);
    for (const auto& [name, value] : event.values) log["metrics"][name] = value ? Json(*value) : Json("NaN");
    return log;
  }

  Json alert_of(const SentEvent& event) const {
    Json alert = common();
    alert.erase("config");
    alert["step"] = event.step;
    alert["title"] = event.kind;
    alert["text"] = event.words;
    alert["level"] = "warn";
    alert["timestamp"] = utc_text(event.time);
    alert["alert_id"] = text(key_, "-", event.place);
    return alert;
  }

  void call(const std::string& what, const Json& arguments) {
    const Json body = {{"args", Json::array()}, {"kwargs", arguments}};
    const auto reply =
        client_
            .ask({.path = "/api/" + what, .body = body.dump(-1, ' ', false, Json::error_handler_t::replace)})
            .json();
    if (const auto error = reply.find("error"); error != reply.end() && !error->is_null())
      fail(Exit::environment, text(client_.address().base, " refuses ", what, ": ", error->dump()),
           "TRACKIO_WRITE_TOKEN in the environment is the token that `trackio show` prints");
  }

  HttpClient client_;
  bool sends_pictures_;
  std::string key_, name_, project_;
  Json config_ = Json::object();
};

}  // namespace

TrackingService make_trackio_service() {
  using enum ServiceKey::Kind;
  return {.name = "trackio",
          .title = "Trackio",
          .keys = {{.name = "uri",
                    .help = "address of a Trackio server that the run is sent to as it trains; \"\": none",
                    .variable = "TRACKIO_SERVER_URL"},
                   {.name = "project", .help = "project there; \"\": the workload's name"},
                   {.name = "pictures", .help = "send pictures too", .kind = yes_no, .otherwise = "true"}},
          .turned_on_by = "uri",
          .check =
              [](const ServiceSettings& settings) {
                require(!settings.at("uri").empty(), Exit::usage, "Trackio needs the address of its server",
                        "track.trackio.uri=http://HOST:7860, or TRACKIO_SERVER_URL in the environment");
                HttpAddress::parse(settings.at("uri"), trackio_uri_key);
              },
          .open = [](const ServiceSettings& settings,
                     const RunIntroduction& run) { return std::make_unique<TrackioRun>(settings, run); }};
}

}  // namespace larmor

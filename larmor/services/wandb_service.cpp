// Weights & Biases by its own Python package (tried with wandb 0.31), in a process of its own: the protocol
// of its server is not published.
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/services/environment.h"
#include "larmor/services/service.h"

// The assembler copies the script into the read-only data of this object.
asm(".pushsection .rodata\nlarmor_wandb_sender_begin:\n.incbin \"" LARMOR_WANDB_SENDER
    "\"\nlarmor_wandb_sender_end:\n.popsection\n");
extern "C" {
extern const char larmor_wandb_sender_begin[];
extern const char larmor_wandb_sender_end[];
}

namespace larmor {

namespace {

/// A Python that runs the script; one line is asked, one is answered.
class WandbProcess {
 public:
  WandbProcess() {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0) fail_errno(errno, "open", "a pipe to Python");
    to_ = Descriptor(in[1]);
    const Descriptor its_in(in[0]);
    if (::pipe2(out.data(), O_CLOEXEC) != 0) fail_errno(errno, "open", "a pipe from Python");
    from_ = Descriptor(out[0]);
    const Descriptor its_out(out[1]);
    const auto given = variable("LARMOR_PYTHON");
    ProcessOptions options{.program = "/usr/bin/env"};
    options.arguments = {given.empty() ? "python3" : given, "-c",
                         std::string(larmor_wandb_sender_begin, larmor_wandb_sender_end)};
    options.standard_in = its_in.number();
    options.standard_out = its_out.number();
    options.die_with_parent = false;  // where the sender is killed it still finishes what it was given
    process_.emplace(Process::start(options));
  }

  /// The end of its input has it finish what it was given, for which it has ten seconds.
  ~WandbProcess() {
    constexpr auto limit = std::chrono::seconds(10);
    to_.reset();
    pollfd ended{.fd = process_->wait_descriptor(), .events = POLLIN, .revents = 0};
    wait_for_any({&ended, 1}, limit);
  }
  WandbProcess(const WandbProcess&) = delete;
  WandbProcess& operator=(const WandbProcess&) = delete;

  /// Throws ServiceUnreachable where it fails or does not answer in time, Error (environment) where it
  /// refuses.
  Json ask(const Json& question, double seconds) {
    const auto line = question.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    for (size_t done = 0; done < line.size();) {
      const auto written =
          after_signals([&] { return ::write(to_.number(), line.data() + done, line.size() - done); });
      if (written <= 0) throw ServiceUnreachable("the Python that speaks to W&B has ended");
      done += static_cast<size_t>(written);
    }
    const auto answer = Json::parse(answer_within(seconds), nullptr, false);
    if (!answer.is_object())
      throw ServiceUnreachable("the Python that speaks to W&B gives no answer that is known");
    if (const auto words = answer.find("refused"); words != answer.end())
      fail(Exit::environment, text("W&B refuses: ", words->get<std::string>()),
           "pip install wandb, and wandb login or WANDB_API_KEY; LARMOR_PYTHON names another Python");
    if (const auto words = answer.find("failed"); words != answer.end())
      throw ServiceUnreachable(text("W&B: ", words->get<std::string>()));
    return answer;
  }

 private:
  std::string answer_within(double seconds) {
    constexpr double milliseconds = 1000;
    while (true) {
      if (const auto end = read_.find('\n'); end != std::string::npos) {
        auto line = read_.substr(0, end);
        read_.erase(0, end + 1);
        return line;
      }
      pollfd ready{.fd = from_.number(), .events = POLLIN, .revents = 0};
      const auto limit = std::chrono::milliseconds(std::llround(seconds * milliseconds));
      if (!wait_for_any({&ready, 1}, limit))
        throw ServiceUnreachable(text("W&B's package does not answer within ", human_seconds(seconds)));
      std::array<char, 4096> bytes{};
      const auto count = after_signals([&] { return ::read(from_.number(), bytes.data(), bytes.size()); });
      if (count <= 0) throw ServiceUnreachable("the Python that speaks to W&B has ended");
      read_.append(bytes.data(), static_cast<size_t>(count));
    }
  }

  Descriptor to_, from_;
  std::string read_;
  std::optional<Process> process_;
};

class WandbRun final : public ServiceRun {
 public:
  WandbRun(const ServiceSettings& settings, const RunIntroduction& run)
      : sends_pictures_(settings.at("pictures") != "false") {
    Json config = Json::object();
    for (const auto& [key, value] : run.keys) config[key] = value;
    for (const auto& [name, value] : run.facts) config[text("larmor/", name)] = value;
    const auto fact = [&](const char* name) {
      const auto found = run.facts.find(name);
      return found == run.facts.end() ? std::string() : found->second;
    };
    Json tags = Json::array();
    for (const auto& tag : split(settings.at("tags"), ',')) {
      if (!tag.empty()) tags.push_back(tag);
    }
    const auto& project = settings.at("project");
    const auto& name = settings.at("name");
    place_ = process_
                 .ask({{"do", "begin"},
                       {"key", run.key},
                       {"folder", run.folder.string()},
                       {"project", project.empty() ? fact("workload") : project},
                       {"entity", settings.at("entity")},
                       {"name", name.empty() ? run.name : name},
                       {"tags", tags},
                       {"mode", settings.at("mode")},
                       {"stage", fact("stage")},
                       {"config", config}},
                      beginning_seconds)
                 .value("place", "");
  }

  std::string place() const override { return place_; }

  void send(std::span<const SentEvent> events) override {
    Json rows = Json::array();
    for (const auto& event : events) {
      if (event.values.empty()) continue;
      Json row = {{"global_step", event.step}, {"epoch", event.epoch}, {"time", event.time}};
      for (const auto& [name, value] : event.values) row[name] = value ? Json(*value) : Json("nan");
      rows.push_back(std::move(row));
    }
    if (!rows.empty()) process_.ask({{"do", "log"}, {"rows", rows}}, request_seconds);
  }

  void send(const SentPicture& picture) override {
    if (!sends_pictures_) return;
    process_.ask(
        {{"do", "picture"}, {"name", picture.name}, {"file", picture.file.string()}, {"step", picture.step}},
        request_seconds);
  }

  void tell(RunState state) override {
    // It shows a run that is sent as running by itself.
    if (state == RunState::training) return;
    process_.ask({{"do", "end"}, {"status", state == RunState::done ? 0 : 1}}, ending_seconds);
  }

 private:
  static constexpr double beginning_seconds = 120, request_seconds = 60, ending_seconds = 600;

  WandbProcess process_;
  bool sends_pictures_;
  std::string place_;
};

}  // namespace

TrackingService make_wandb_service() {
  using enum ServiceKey::Kind;
  return {.name = "wandb",
          .title = "Weights & Biases",
          .keys = {{.name = "enabled",
                    .help = "send the run to Weights & Biases as it trains, by the package wandb of python3",
                    .kind = yes_no},
                   {.name = "project",
                    .help = "project there; \"\": the workload's name",
                    .variable = "WANDB_PROJECT"},
                   {.name = "entity",
                    .help = "user or team; \"\": the account's own",
                    .variable = "WANDB_ENTITY"},
                   {.name = "mode",
                    .help = "online, offline (files below RUN/wandb, for `wandb sync`) or disabled",
                    .variable = "WANDB_MODE",
                    .otherwise = "online"},
                   {.name = "name", .help = "name there; \"\": the run's", .variable = "WANDB_NAME"},
                   {.name = "tags", .help = "tags there", .kind = list, .variable = "WANDB_TAGS"},
                   {.name = "pictures", .help = "send pictures too", .kind = yes_no, .otherwise = "true"}},
          .turned_on_by = "enabled",
          .settles_after = 30,
          .check =
              [](const ServiceSettings& settings) {
                const auto& mode = settings.at("mode");
                if (mode != "online" && mode != "offline" && mode != "disabled")
                  fail(Exit::usage, text("track.wandb.mode (or WANDB_MODE) is ", mode),
                       "say online, offline or disabled");
              },
          .open = [](const ServiceSettings& settings,
                     const RunIntroduction& run) { return std::make_unique<WandbRun>(settings, run); }};
}

}  // namespace larmor

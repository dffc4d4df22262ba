#include "larmor/sync/sender.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/report/picture_series.h"
#include "larmor/report/run_document.h"
#include "larmor/sync/log_reader.h"
#include "larmor/sync/sent_record.h"

namespace larmor {

namespace {

constexpr size_t events_at_once = 200;
constexpr double look_seconds = 1, picture_seconds = 10, first_wait = 1, longest_wait = 60,
                 longest_wait_at_the_end = 10;

RunIntroduction introduction_of(const RunFolder& folder, const std::string& key, const Clock& clock) {
  const auto document = short_document_of(folder);
  RunIntroduction run{
      .key = key, .name = document.value("name", ""), .folder = std::filesystem::absolute(folder.root)};
  for (const auto& [name, value] : document.at("keys").items()) run.keys[name] = value.get<std::string>();
  for (const char* const fact : {"workload", "stage", "program", "build", "host"}) {
    if (const auto value = document.value(fact, ""); !value.empty()) run.facts[fact] = value;
  }
  for (const auto& row : document.at("machine")) {
    auto& all = run.facts[row.at(0).get<std::string>()];
    all += (all.empty() ? "" : "; ") + row.at(1).get<std::string>();
  }
  const auto first = LogReader(folder.events(), 0).read(1);
  run.began = first.empty() ? clock.wall_seconds() : first.front().time;
  return run;
}

FileLock lock_of_sender(const std::filesystem::path& file, Clock& clock, const SyncOptions& options) {
  for (bool is_said = false;; clock.sleep(look_seconds)) {
    try {
      return FileLock(file);
    } catch (const Error& held) {
      if (!options.waits_for_other_sender || !options.is_trained()) throw;
      if (!std::exchange(is_said, true) && options.on_silence) options.on_silence(held.message());
    }
  }
}

/// Nothing of a run from before there were services, or whose environment.json cannot be read.
ServiceSettings kept_settings(const RunFolder& folder, const TrackingService& service) {
  try {
    return read_json(folder.environment()).at("services").at(service.name).get<ServiceSettings>();
  } catch (const std::exception&) {
    return {};
  }
}

RunState state_when_over(const RunFolder& folder) {
  const auto state = short_document_of(folder).value("state", "");
  return state == "done" ? RunState::done : state == "failed" ? RunState::failed : RunState::stopped;
}

/// Those that stand at a step, by name and then by step.
std::vector<SentPicture> unsent_pictures(const RunFolder& folder, const SentRecord& record) {
  std::vector<SentPicture> pictures;
  for (const auto& series : pictures_within(folder.pictures(), UINT64_MAX)) {
    const auto last = record.pictures.find(series.name);
    for (const auto& shot : series.shots) {
      if (shot.step && (last == record.pictures.end() || last->second < *shot.step))
        pictures.push_back({series.name, *shot.step, std::filesystem::absolute(shot.file)});
    }
  }
  return pictures;
}

class Sender {
 public:
  Sender(const RunFolder& folder, const TrackingService& service, const ServiceSettings& settings,
         Storage& storage, Clock& clock, const SyncOptions& options)
      : folder_(folder),
        service_(service),
        settings_(settings),
        storage_(storage),
        clock_(clock),
        options_(options),
        record_(read_sent(folder, service, settings)),
        reader_(folder.events(), record_.place) {}

  SyncSummary run() {
    write_sent(storage_, folder_, service_, record_);  // the key is there before the service hears of it
    for (bool is_over = false; !is_over;) {
      // Asked before the log is read: what is recorded until then is read below.
      const bool is_trained = options_.is_trained && options_.is_trained();
      std::error_code unknown;
      if (!std::filesystem::exists(folder_.root, unknown))
        fail(Exit::environment,
             text("the run folder ", folder_.root.string(), " is gone, and nothing more is sent"),
             "larmor sync RUN sends a run from where its folder is now");
      try {
        open();
        const bool found = send_events(is_trained);
        if (found) continue;
        send_pictures(is_trained);
        if (!is_trained) {
          service_run_->tell(state_when_over(folder_));
          keep(reader_.place());
          is_over = true;
        }
        note_answer();
        if (is_trained) clock_.sleep(look_seconds);
      } catch (const ServiceUnreachable& reason) {
        note_silence(reason.what(), is_trained);
      }
    }
    summary_.unread_lines = reader_.unread_lines();
    return summary_;
  }

 private:
  void open() {
    if (service_run_) return;
    service_run_ = service_.open(settings_, introduction_of(folder_, record_.key, clock_));
    service_run_->tell(RunState::training);
    if (std::exchange(summary_.place, service_run_->place()).empty() && options_.on_open)
      options_.on_open(summary_.place);
  }

  /// Whether there were any.
  bool send_events(bool is_trained) {
    if (unsent_.empty()) unsent_ = reader_.read(events_at_once);
    if (unsent_.empty()) return false;
    service_run_->send(unsent_);
    summary_.events += std::ssize(unsent_);
    unsent_.clear();
    note_answer();
    note_sent(is_trained);
    return true;
  }

  /// The place is kept once what was sent outlasts the end of this process.
  void note_sent(bool is_trained) {
    if (service_.settles_after == 0) return keep(reader_.place());
    if (!is_trained) return;  // all is kept at the end
    const double now = clock_.steady_seconds();
    settling_.emplace_back(now + service_.settles_after, reader_.place());
    std::optional<uint64_t> settled;
    while (!settling_.empty() && settling_.front().first <= now) {
      settled = settling_.front().second;
      settling_.pop_front();
    }
    if (settled) keep(*settled);
  }

  void send_pictures(bool is_trained) {
    const double now = clock_.steady_seconds();
    if (is_trained && now < next_pictures_) return;
    next_pictures_ = now + picture_seconds;
    for (const auto& picture : unsent_pictures(folder_, record_)) {
      service_run_->send(picture);
      ++summary_.pictures;
      record_.pictures[picture.name] = picture.step;
      write_sent(storage_, folder_, service_, record_);
    }
  }

  void keep(uint64_t place) {
    record_.place = place;
    write_sent(storage_, folder_, service_, record_);
  }

  void note_answer() {
    silent_since_.reset();
    wait_ = first_wait;
  }

  void note_silence(const std::string& reason, bool is_trained) {
    const double now = clock_.steady_seconds();
    service_run_.reset();
    if (!silent_since_) {
      silent_since_ = now;
      if (options_.on_silence) options_.on_silence(reason);
    }
    // What was handed over and has not settled may be lost with the process that took it.
    if (service_.settles_after > 0) {
      reader_ = LogReader(folder_.events(), record_.place);
      unsent_.clear();
      settling_.clear();
    }
    if (!is_trained && now - *silent_since_ + wait_ > options_.patience)
      fail(Exit::environment, text("not all is sent to ", service_.title, ": ", reason),
           text("larmor sync ", folder_.root.string(), " --to ", service_.name,
                " sends the rest, once it can be reached"));
    clock_.sleep(wait_);
    wait_ = std::min(2 * wait_, is_trained ? longest_wait : longest_wait_at_the_end);
  }

  const RunFolder& folder_;
  const TrackingService& service_;
  const ServiceSettings& settings_;
  Storage& storage_;
  Clock& clock_;
  const SyncOptions& options_;
  SentRecord record_;
  LogReader reader_;
  std::unique_ptr<ServiceRun> service_run_;
  std::vector<SentEvent> unsent_;
  std::deque<std::pair<double, uint64_t>> settling_;  // when a place outlasts this process, and the place
  std::optional<double> silent_since_;
  double wait_ = first_wait, next_pictures_ = 0;
  SyncSummary summary_;
};

}  // namespace

ServiceSettings settings_of_run(const RunFolder& folder, const TrackingService& service,
                                const std::vector<std::string>& words) {
  const auto section = text("track.", service.name, ".");
  auto given = kept_settings(folder, service);
  for (const auto& word : words) {
    const auto equals = std::min(word.find('='), word.size());
    const auto key = word.substr(0, equals);
    const bool is_known =
        key.starts_with(section) && std::ranges::any_of(service.keys, [&](const auto& known) {
          return key.substr(section.size()) == known.name;
        });
    if (!is_known || equals == word.size()) {
      std::vector<std::string> keys;
      for (const auto& known : service.keys) keys.push_back(section + known.name);
      fail(Exit::usage, text(word, " is no key and value of ", service.title),
           text("say one of ", join(keys, ", ")));
    }
    given[key.substr(section.size())] = word.substr(equals + 1);
  }
  return settings_of(service, given);
}

SyncSummary look_at_unsent(const RunFolder& folder, const TrackingService& service,
                           const ServiceSettings& settings) {
  service.check(settings);
  const auto record = read_sent(folder, service, settings);
  LogReader reader(folder.events(), record.place);
  SyncSummary summary;
  for (auto events = reader.read(events_at_once); !events.empty(); events = reader.read(events_at_once))
    summary.events += std::ssize(events);
  summary.pictures = std::ssize(unsent_pictures(folder, record));
  summary.unread_lines = reader.unread_lines();
  return summary;
}

SyncSummary sync_run(const RunFolder& folder, const TrackingService& service, const ServiceSettings& settings,
                     Storage& storage, Clock& clock, const SyncOptions& options) {
  service.check(settings);
  storage.create_folders(folder.sync());
  const auto lock = lock_of_sender(folder.sync() / (service.name + ".lock"), clock, options);
  return Sender(folder, service, settings, storage, clock, options).run();
}

}  // namespace larmor

#include "larmor/judge/prediction/prediction_ranks.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/device/heartbeat.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/watch/stack_dump.h"

namespace larmor {

namespace {

/// What a rank says when its network is loaded, and it can be given cases.
constexpr const char* ready = "ready";
/// What it says while it computes.
constexpr const char* beat = "beat";
constexpr double seconds_between_beats = 1, least_start_seconds = 60;

/// False when the other side is gone.
bool send_line(int descriptor, const std::string& line) {
  const auto bytes = line + "\n";
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto more = send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) return false;
    sent += static_cast<std::size_t>(more);
  }
  return true;
}

/// Lines as they come in.
class LineReader {
 public:
  /// Blocks for the next bytes. False at the end.
  bool read_more(int descriptor) {
    std::array<char, 4096> bytes{};
    ssize_t count = 0;
    do {
      count = read(descriptor, bytes.data(), bytes.size());
    } while (count < 0 && errno == EINTR);
    if (count <= 0) return false;
    waiting_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }
  std::optional<std::string> take() {
    const auto end = waiting_.find('\n');
    if (end == std::string::npos) return std::nullopt;
    auto line = waiting_.substr(0, end);
    waiting_.erase(0, end + 1);
    return line;
  }

 private:
  std::string waiting_;
};

struct RankProcess {
  RankProcess(Process&& started, Descriptor&& own) : process(std::move(started)), socket(std::move(own)) {}

  Process process;
  Descriptor socket;
  LineReader lines;
  std::optional<std::size_t> at;  // the case that it is computing
  bool is_ready = false;
  double heard = SystemClock().steady_seconds();
  std::string hang = {};  // why it was killed
};

/// A rank's heartbeats as lines between its results.
class BeatLines final : public Heartbeat {
 public:
  void show() override {
    if (outer_ != nullptr) outer_->show();
    const std::lock_guard lock(mutex_);
    const double now = clock_.steady_seconds();
    if (now - said_ < seconds_between_beats) return;
    said_ = now;
    send_line(STDIN_FILENO, beat);
  }
  /// Not within a beat of another thread.
  void send_result(const std::string& line) {
    const std::lock_guard lock(mutex_);
    send_line(STDIN_FILENO, line);
  }

 private:
  std::mutex mutex_;
  SystemClock clock_;
  double said_ = 0;
  Heartbeat* outer_ = heartbeat();
  HeartbeatScope here_{this};
};

class Dealer {
 public:
  Dealer(const std::vector<PredictionCase>& cases, const std::vector<ProcessOptions>& options,
         const std::function<void(const PredictionCase&)>& before, const HangLimits& hang)
      : cases_(cases), options_(options), before_(before), hang_(hang), results_(cases.size()) {}

  std::vector<PredictedCase> run() {
    ranks_.resize(options_.size());
    for (std::size_t rank = 0; rank < options_.size(); ++rank) start(rank);
    while (some_rank_lives()) wait();
    if (done_ == 0) throw_if_asked(asked_by_signal);
    if (done_ == 0 && !cases_.empty()) {
      fail(first_end_.value_or(Exit::rank_lost),
           text("no rank is left, and ", cases_.size() - done_, " of ", cases_.size(),
                " cases are to be done"),
           "what ended the ranks stands above");
    }
    for (std::size_t number = next_; number < cases_.size(); ++number)
      results_[number] =
          not_tried(cases_[number], stop_requested() ? Exit::stopped : first_end_.value_or(Exit::rank_lost));
    return std::move(results_);
  }

 private:
  void start(std::size_t rank) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      fail(Exit::environment, text("no socket for a rank: ", std::strerror(errno)));
    Descriptor own(ends[0]);
    const Descriptor theirs(ends[1]);
    auto options = options_[rank];
    options.standard_in = theirs.number();
    ranks_[rank].emplace(Process::start(options), std::move(own));
  }

  bool some_rank_lives() const {
    return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank.has_value(); });
  }

  void wait() {
    std::vector<pollfd> watched;
    std::vector<std::size_t> rank_of;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank]) continue;
      watched.push_back({.fd = ranks_[rank]->socket.number(), .events = POLLIN, .revents = 0});
      rank_of.push_back(rank);
    }
    // A signal may come before the wait.
    constexpr std::chrono::milliseconds look_interval(250);
    const bool is_ready = wait_for_any(watched, look_interval);
    if (stop_requested() && !std::exchange(has_told_stop_, true)) {
      for (auto& rank : ranks_) {
        if (rank) rank->process.send(SIGTERM);
      }
    }
    for (std::size_t i = 0; is_ready && i < watched.size(); ++i) {
      if (watched[i].revents != 0) listen_to(rank_of[i]);
    }
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank]) end_if_it_hangs(rank);
    }
  }

  /// One that waits for a case has nothing to show.
  void end_if_it_hangs(std::size_t rank) {
    auto& one = *ranks_[rank];
    if (hang_.never || !one.hang.empty() || (one.is_ready && !one.at)) return;
    const double quiet = clock_.steady_seconds() - one.heard;
    const double limit = one.is_ready ? hang_.fixed.value_or(hang_.floor)
                                      : std::max(hang_.fixed.value_or(hang_.start), least_start_seconds);
    if (quiet <= limit) return;
    const auto state = process_state(one.process.id());
    one.hang =
        text("rank ", rank, " hangs: no heartbeat for ", fixed(quiet, 1), " s while ",
             one.at ? "computing it" : "starting", state.empty() ? "" : text("; its process is ", state));
    log::warning(text(one.at ? cases_[*one.at].label + ": " : "", one.hang));
    one.process.send(SIGKILL);
  }

  void listen_to(std::size_t rank) {
    auto& one = *ranks_[rank];
    if (!one.lines.read_more(one.socket.number())) return bury(rank);
    one.heard = clock_.steady_seconds();
    while (const auto line = one.lines.take()) {
      if (*line == beat) continue;
      one.is_ready = true;
      if (*line != ready) {
        results_[*one.at] = predicted_case_from_json(parse_json(*line, "a rank's result"));
        one.at.reset();
        ++done_;
      }
      give_next(one);
    }
  }

  void give_next(RankProcess& one) {
    if (next_ == cases_.size() || stop_requested()) {
      shutdown(one.socket.number(), SHUT_WR);
      return;
    }
    before_(cases_[next_]);
    one.at = next_++;
    send_line(one.socket.number(), text(*one.at));  // one that is gone is buried next
  }

  void bury(std::size_t rank) {
    auto one = std::move(*ranks_[rank]);
    ranks_[rank].reset();
    const auto ending = one.process.wait();
    if (!ending.ok() && !first_end_)
      first_end_ = ending.signal == 0 ? static_cast<Exit>(ending.status) : Exit::rank_lost;
    if (one.at && stop_requested()) {
      results_[*one.at] = stopped_at(cases_[*one.at]);
      return;
    }
    if (!one.at) return;
    const bool has_hung = !one.hang.empty();
    results_[*one.at] = {
        .failure = text(cases_[*one.at].label, ": ",
                        has_hung ? one.hang : text("rank ", rank, " ended with it: ", ending.describe())),
        .hint = has_hung ? "predict this case again; where one block of its network takes longer, set "
                           "parallel.hang_limit"
                         : "predict this case again; if the rank ends again, its memory may not do",
        .exit = ending.signal == 0 ? static_cast<Exit>(ending.status) : Exit::rank_lost};
    ++done_;
    if (next_ < cases_.size()) start(rank);
  }

  const std::vector<PredictionCase>& cases_;
  const std::vector<ProcessOptions>& options_;
  const std::function<void(const PredictionCase&)>& before_;
  const HangLimits& hang_;
  SystemClock clock_;
  std::vector<PredictedCase> results_;
  std::vector<std::optional<RankProcess>> ranks_;
  std::size_t next_ = 0, done_ = 0;
  std::optional<Exit> first_end_;
  bool has_told_stop_ = false;
};

std::size_t number_in(const std::string& line) {
  std::size_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

}  // namespace

std::vector<PredictedCase> deal_out(const std::vector<PredictionCase>& cases,
                                    const std::vector<ProcessOptions>& ranks,
                                    const std::function<void(const PredictionCase&)>& before,
                                    const HangLimits& hang) {
  return Dealer(cases, ranks, before, hang).run();
}

void serve_cases(const PredictionRun& run) {
  LineReader lines;
  BeatLines beats;
  beats.send_result(ready);
  while (lines.read_more(STDIN_FILENO)) {
    while (const auto line = lines.take()) {
      const auto number = number_in(*line);
      if (number >= run.cases.size()) return;
      const auto json = to_json(predict_case(run, number));
      beats.send_result(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
}

}  // namespace larmor

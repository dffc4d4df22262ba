#include "larmor/launch/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include <poll.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/log.h"
#include "larmor/base/printable.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/watch/stack_dump.h"

namespace larmor {
namespace {

constexpr double look_interval = 0.25, beat_interval = 1;
/// For a rank to write its stacks, and for one that was stopped after it is woken.
constexpr double stack_seconds = 1.5, wake_seconds = 0.5;
/// Between the request to end and the news that collectives are in vain: what needs no peer is finished
/// first. As long again until ranks that were only starting, and have nothing to finish, are killed.
constexpr double news_seconds = 1;
constexpr int stopped_exit_status = static_cast<int>(Exit::stopped);

}  // namespace

Supervisor::Supervisor(std::vector<Host*> hosts, std::vector<size_t> host_of_rank, LauncherLog& log,
                       const SupervisorOptions& options, Clock& clock)
    : hosts_(std::move(hosts)),
      host_of_rank_(std::move(host_of_rank)),
      deaths_(host_of_rank_.size()),
      sent_(host_of_rank_.size()),
      log_(log),
      options_(options),
      clock_(clock),
      hang_watch_(options.hang) {}

bool Supervisor::is_over() const {
  return std::all_of(deaths_.begin(), deaths_.end(), [](const auto& death) { return death.has_value(); });
}

GroupEnding Supervisor::run() {
  while (!is_over()) {
    wait_for_events();
    step();
  }
  return ending();
}

void Supervisor::step() {
  ++round_;
  take_signals();
  take_endings();
  const double now = clock_.steady_seconds();
  if (now - beaten_ >= beat_interval) {
    for (Host* host : hosts_) host->beat();
    beaten_ = now;
  }
  if (now - looked_ >= look_interval) {
    look_at_ranks(now);
    looked_ = now;
  }
  end_hang(now);
  tell_of_loss(now);
  end_overdue();
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> watched;
  for (const Host* host : hosts_) {
    for (const int descriptor : host->descriptors()) watched.push_back({descriptor, POLLIN, 0});
  }
  double seconds = look_interval;
  // Past the deadline all ranks are killed, and the kernel needs a moment.
  if (deadline_) seconds = std::clamp(*deadline_ - clock_.steady_seconds(), 0.01, look_interval);
  if (poll(watched.data(), watched.size(), static_cast<int>(std::ceil(seconds * 1000))) < 0 &&
      errno != EINTR) {
    fail(Exit::unexpected, text("cannot wait for the ranks: ", std::strerror(errno)));
  }
}

void Supervisor::take_signals() {
  for (size_t host = 0; host < hosts_.size(); ++host) {
    while (const int signal = hosts_[host]->take_signal()) take_signal_of(host, signal);
  }
}

/// A scheduler sends its signal to every host at once: that is one signal, until a host hears a second.
void Supervisor::take_signal_of(size_t host, int signal) {
  const bool is_first_there = signalled_hosts_.insert(host).second;
  if (first_signal_ == 0) {
    first_signal_ = signal;
    log_.line(text("got ", signal_name(signal), ", passed on to all ranks"));
    send_all(signal);
  } else if (!is_first_there && second_signal_ == 0) {
    second_signal_ = signal;
    log_.line(text("got a second signal, ", signal_name(signal), ": ending all ranks at once"));
    send_all(SIGKILL);
  }
}

/// A scheduler sends its signal to agents and ranks at once: where one of these has ended by it while it
/// started, ours is on its way.
void Supervisor::wait_for_signal_of(const RankEnding& how) {
  if (first_signal_ != 0 || std::ranges::find(stop_signals, how.ending.signal) == stop_signals.end()) return;
  constexpr double patience = 0.25;
  const double end = clock_.steady_seconds() + patience;
  while (first_signal_ == 0 && clock_.steady_seconds() < end) {
    clock_.sleep(0.01);
    take_signals();
  }
}

void Supervisor::take_endings() {
  bool failed = false;
  for (Host* host : hosts_) {
    for (auto& how : host->take_endings()) {
      const auto rank = static_cast<size_t>(how.rank);
      if (rank >= deaths_.size() || deaths_[rank]) continue;
      wait_for_signal_of(how);
      const int signal = how.ending.signal;
      // A terminal's Ctrl-C reaches ranks that do not watch for it yet without us.
      const bool by_first_signal = signal != 0 && signal == first_signal_;
      const bool by_us = by_first_signal || (signal != 0 && sent_[rank].contains(signal));
      const Death death{std::move(how), round_, by_us};
      const size_t end = std::min(rank + static_cast<size_t>(death.how.ranks), deaths_.size());
      for (size_t one = rank; one < end; ++one) deaths_[one] = death;
      ended_early_ = ended_early_ || (by_first_signal && !deadline_);
      failed = failed || is_failure(death);
      log_.line(death.how.ending.ok() && !death.how.lost ? text(who_ended(death.how), " is done")
                                                         : describe(death));
    }
  }
  if ((failed || ended_early_) && !deadline_ && !hang_ && !is_over()) end_others();
}

void Supervisor::look_at_ranks(double now) {
  if (deadline_ || hang_ || second_signal_ != 0) return;
  std::vector<RankStatus> ranks(deaths_.size());
  size_t known = 0;
  for (Host* host : hosts_) {
    for (auto& [rank, status] : host->statuses()) {
      ranks.at(static_cast<size_t>(rank)) = std::move(status);
      ++known;
    }
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!deaths_[rank]) continue;
    ranks[rank] = RankStatus();
    ranks[rank].phase = Phase::finished;
    ++known;
  }
  if (known < ranks.size()) return;  // a host has not reported yet
  for (const auto& slow : slow_watch_.look(ranks, now)) {
    log_.line(slow.what);
    log::warning(slow.what);
  }
  hang_ = hang_watch_.look(ranks);
  if (!hang_) return;
  blame_stopped(ranks);
  const std::string state = hang_->rank < 0 ? "" : process_state(static_cast<size_t>(hang_->rank));
  if (!state.empty()) hang_->what += text("; its process is ", state);
  log_.line(hang_->what);
  log::warning(hang_->what);
  if (!options_.hang_file.empty()) {
    try {
      write_text(*make_storage(), options_.hang_file,
                 Lines(hang_->what).add("").add_text(collectives_report(ranks)).shown());
    } catch (const Error& error) {  // the log has what matters
      log::warning(error.message());
    }
  }
  send_all(stack_signal());
  hang_stage_ = HangStage::stacks_asked;
  hang_next_ = now + stack_seconds;
}

void Supervisor::blame_stopped(const std::vector<RankStatus>& ranks) {
  const auto is_stopped = [&](size_t rank) {
    return !deaths_[rank] && process_state(rank).starts_with("stopped");
  };
  if (hang_->rank >= 0 && is_stopped(static_cast<size_t>(hang_->rank))) return;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!is_stopped(rank)) continue;
    const RankStatus& status = ranks[rank];
    hang_->rank = static_cast<int>(rank);
    hang_->seconds = status.quiet;
    hang_->what = text(silence_text(hang_->rank, hang_->seconds, hang_->limit), " ",
                       while_in(status.phase, status.step));
    return;
  }
}

std::string Supervisor::process_state(size_t rank) const {
  return hosts_[host_of_rank_[rank]]->process_state(static_cast<int>(rank));
}

/// Nobody in a hanging group hears a request to end.
void Supervisor::end_hang(double now) {
  if (hang_stage_ == HangStage::none || hang_stage_ == HangStage::killed || now < hang_next_) return;
  if (hang_stage_ == HangStage::stacks_asked) {
    send_all(SIGCONT);  // a stopped rank now writes the stacks that it was asked for
    hang_stage_ = HangStage::woken;
    hang_next_ = now + wake_seconds;
    return;
  }
  log_.line("ending all ranks of the hanging group");
  send_all(SIGKILL);
  hang_stage_ = HangStage::killed;
}

void Supervisor::end_others() {
  asked_ = clock_.steady_seconds();
  deadline_ = *asked_ + options_.grace_seconds;
  log_.line(text("asking the other ranks to end; they have ", human_seconds(options_.grace_seconds)));
  // The whole story follows when all have ended; somebody at the terminal hears of it now.
  const auto first = first_cause(deaths_);
  if (first) {
    log::warning(text(describe(*deaths_[*first]), "; the other ranks have ",
                      human_seconds(options_.grace_seconds), " to end"));
  }
  if (options_.asks_starting_ranks) return send_all(SIGTERM);
  for (const size_t rank : running_ranks(/*starting=*/false)) send(rank, SIGTERM);
}

std::vector<size_t> Supervisor::running_ranks(bool starting) {
  std::vector<bool> starts(deaths_.size());
  for (Host* host : hosts_) {
    for (const auto& [rank, status] : host->statuses())
      starts[static_cast<size_t>(rank)] = status.phase == Phase::starting;
  }
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < deaths_.size(); ++rank) {
    if (!deaths_[rank] && starts[rank] == starting) ranks.push_back(rank);
  }
  return ranks;
}

/// A rank whose collective waits on the device for a peer that is gone does not learn of it there.
void Supervisor::tell_of_loss(double now) {
  if (!asked_ || now < *asked_ + news_seconds) return;
  if (!has_told_) send_all(lost_peer_signal());
  has_told_ = true;
  if (now < *asked_ + 2 * news_seconds) return;
  // Where ranks have ended only for want of peers, the one that was the reason still has to show itself.
  const auto first = first_cause(deaths_);
  if (!first || is_echo(*deaths_[*first])) return;
  for (const size_t rank : running_ranks(/*starting=*/true)) {
    if (!sent_[rank].contains(SIGKILL)) send(rank, SIGKILL);
  }
}

void Supervisor::end_overdue() {
  if (!deadline_ || clock_.steady_seconds() < *deadline_) return;
  for (size_t rank = 0; rank < deaths_.size(); ++rank) {
    if (!deaths_[rank] && !sent_[rank].contains(SIGKILL)) send(rank, SIGKILL);
  }
}

void Supervisor::send(size_t rank, int signal) {
  sent_[rank].insert(signal);
  hosts_[host_of_rank_[rank]]->send(static_cast<int>(rank), signal);
}

void Supervisor::send_all(int signal) {
  for (size_t rank = 0; rank < deaths_.size(); ++rank) {
    if (!deaths_[rank]) send(rank, signal);
  }
}

/// An end that a person or a scheduler asked for.
std::optional<GroupEnding> Supervisor::asked_ending() const {
  GroupEnding result;
  result.exit = Exit::stopped;
  result.was_asked = true;
  const auto killed = [](const auto& death) { return death->by_us && death->how.ending.signal == SIGKILL; };
  // A second signal that found all ranks gone ended nobody.
  if (second_signal_ != 0 && std::any_of(deaths_.begin(), deaths_.end(), killed)) {
    result.raw_status = 128 + second_signal_;
    result.message = text("ended at once by a second signal, ", signal_name(second_signal_));
    return result;
  }
  if (ended_early_) {
    result.raw_status = 128 + first_signal_;
    result.message = text("ended by ", signal_name(first_signal_), " while the ranks were starting");
    return result;
  }
  return std::nullopt;
}

GroupEnding Supervisor::ending() const {
  if (const auto asked = asked_ending()) return *asked;
  GroupEnding result;
  if (hang_) {
    result.exit = Exit::rank_lost;
    result.raw_status = static_cast<int>(Exit::rank_lost);
    result.first_rank = hang_->rank;
    result.message = hang_->what;
    if (!options_.hang_file.empty())
      result.last_lines = text("stacks: the ranks' logs; last collectives: ", options_.hang_file.string());
  } else if (const auto first = first_cause(deaths_)) {
    result = ending_by(*deaths_[*first]);
  } else if (std::any_of(deaths_.begin(), deaths_.end(),
                         [](const auto& death) { return death->how.ending.status == stopped_exit_status; })) {
    result.exit = Exit::stopped;
    result.raw_status = stopped_exit_status;
    result.message = first_signal_ ? text("stopped by ", signal_name(first_signal_)) : "stopped";
  }
  result.was_asked = first_signal_ != 0;
  result.has_lost_hosts =
      std::any_of(hosts_.begin(), hosts_.end(), [](const Host* host) { return host->is_lost(); });
  return result;
}

}  // namespace larmor

#include "larmor/launch/supervisor.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1};

// A handler can reach nothing but a global.
std::atomic<int> pipe_for_handler = -1;
struct sigaction actions_before[std::size(stop_signals)];

void pass_to_pipe(int signal) {
  const int saved = errno;
  const char byte = static_cast<char>(signal);
  // A full pipe holds more signals than matter.
  [[maybe_unused]] const ssize_t written = write(pipe_for_handler.load(), &byte, 1);
  errno = saved;
}

constexpr int stopped_status = static_cast<int>(Exit::stopped);
constexpr int rank_lost_status = static_cast<int>(Exit::rank_lost);

/// What the program says for a rank that ended by itself with this status.
Exit exit_for(int status) {
  const bool is_ours =
      status >= static_cast<int>(Exit::usage) && status <= static_cast<int>(Exit::no_progress);
  return is_ours ? static_cast<Exit>(status) : Exit::unexpected;
}

/// "while computing step 120".
std::string where(Phase phase, int64_t step) {
  switch (phase) {
    case Phase::starting:
      return "while starting";
    case Phase::waiting_for_data:
      return text("while waiting for the data of step ", step);
    case Phase::computing:
      return text("while computing step ", step);
    case Phase::communicating:
      return text("while communicating in step ", step);
    case Phase::validating:
      return text("while validating after step ", step);
    case Phase::saving:
      return text("while saving step ", step);
    case Phase::finished:
      return text("after it had finished step ", step);
  }
  return "";
}

}  // namespace

LauncherLog::LauncherLog(const std::filesystem::path& file) : file_(storage_.append(file)) {}

void LauncherLog::line(std::string_view words) {
  if (!file_) return;
  try {
    file_->write(text(utc_text(clock_.wall_seconds()), " ", words, "\n"));
  } catch (const Error&) {
    file_.reset();
  }
}

SignalPipe::SignalPipe() {
  assert(pipe_for_handler.load() == -1);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    fail(Exit::environment, text("cannot make a pipe for signals: ", std::strerror(errno)));
  }
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  pipe_for_handler = ends[1];
  struct sigaction action{};
  action.sa_handler = pass_to_pipe;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(stop_signals); ++i)
    sigaction(stop_signals[i], &action, &actions_before[i]);
}

SignalPipe::~SignalPipe() {
  for (size_t i = 0; i < std::size(stop_signals); ++i)
    sigaction(stop_signals[i], &actions_before[i], nullptr);
  pipe_for_handler = -1;
}

int SignalPipe::take() {
  char byte = 0;
  return read(read_end_.number(), &byte, 1) == 1 ? byte : 0;
}

Supervisor::Supervisor(std::vector<RankProcess> ranks, const StatusBoard& board, SignalPipe& signals,
                       LauncherLog& log, double grace_seconds)
    : ranks_(std::move(ranks)),
      deaths_(ranks_.size()),
      sent_(ranks_.size()),
      board_(board),
      signals_(signals),
      log_(log),
      grace_seconds_(grace_seconds) {}

GroupEnding Supervisor::run() {
  const auto runs = [](const std::optional<Death>& death) { return !death; };
  while (std::any_of(deaths_.begin(), deaths_.end(), runs)) {
    wait_for_events();
    ++round_;
    take_signals();
    take_endings();
    end_overdue();
  }
  return ending();
}

void Supervisor::wait_for_events() {
  std::vector<pollfd> watched = {{signals_.descriptor(), POLLIN, 0}};
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!deaths_[rank]) watched.push_back({ranks_[rank].process.wait_descriptor(), POLLIN, 0});
  }
  int milliseconds = -1;
  if (deadline_) {
    // Past the deadline all ranks are killed, and the kernel needs a moment.
    const double left = std::max(0.01, *deadline_ - clock_.steady_seconds());
    milliseconds = static_cast<int>(std::ceil(left * 1000));
  }
  if (poll(watched.data(), watched.size(), milliseconds) < 0 && errno != EINTR) {
    fail(Exit::unexpected, text("cannot wait for the ranks: ", std::strerror(errno)));
  }
}

void Supervisor::take_signals() {
  while (const int signal = signals_.take()) {
    if (first_signal_ == 0) {
      first_signal_ = signal;
      log_.line(text("got ", signal_name(signal), ", passed on to all ranks"));
      send_all(signal);
    } else if (second_signal_ == 0) {
      second_signal_ = signal;
      log_.line(text("got a second signal, ", signal_name(signal), ": ending all ranks at once"));
      send_all(SIGKILL);
    }
  }
}

void Supervisor::take_endings() {
  bool failed = false;
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (deaths_[rank]) continue;
    const std::optional<Ending> ended = ranks_[rank].process.poll();
    if (!ended) continue;
    // A terminal's Ctrl-C reaches ranks that do not watch for it yet without us.
    const bool by_first_signal = ended->signal != 0 && ended->signal == first_signal_;
    const bool by_us = by_first_signal || (ended->signal != 0 && sent_[rank].contains(ended->signal));
    const int index = static_cast<int>(rank);
    deaths_[rank] = Death{*ended, board_.phase(index), board_.step(index), round_, by_us};
    ended_early_ = ended_early_ || (by_first_signal && !deadline_);
    failed = failed || is_failure(*deaths_[rank]);
    // What the rank itself started belongs to its process group and has no business without it.
    kill(-ranks_[rank].process.id(), SIGKILL);
    log_.line(ended->ok() ? text("rank ", rank, " is done") : describe(rank));
  }
  if ((failed || ended_early_) && !deadline_) end_others();
}

void Supervisor::end_others() {
  deadline_ = clock_.steady_seconds() + grace_seconds_;
  log_.line(text("asking the other ranks to end; they have ", human_seconds(grace_seconds_)));
  // The whole story follows when all have ended; somebody at the terminal hears of it now.
  const auto first = first_cause();
  if (first && ranks_.size() > 1)
    log::warning(text(describe(*first), "; the other ranks have ", human_seconds(grace_seconds_), " to end"));
  send_all(SIGTERM);
}

void Supervisor::end_overdue() {
  if (deadline_ && clock_.steady_seconds() >= *deadline_) send_all(SIGKILL);
}

void Supervisor::send(size_t rank, int signal) {
  sent_[rank].insert(signal);
  ranks_[rank].process.send(signal);
}

void Supervisor::send_all(int signal) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (!deaths_[rank]) send(rank, signal);
  }
}

bool Supervisor::is_failure(const Death& death) const {
  return !death.ending.ok() && !death.by_us && death.ending.status != stopped_status;
}

std::optional<size_t> Supervisor::first_cause() const {
  std::optional<size_t> first;
  const auto order = [&](size_t rank) {
    const Death& death = *deaths_[rank];
    // A rank that lost its peers only echoes another's end, even when the echo arrives first.
    const bool is_echo = death.ending.signal == 0 && death.ending.status == rank_lost_status;
    return std::tuple(is_echo, death.round, death.ending.signal == 0, rank);
  };
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (deaths_[rank] && is_failure(*deaths_[rank]) && (!first || order(rank) < order(*first))) first = rank;
  }
  return first;
}

GroupEnding Supervisor::ending() const {
  GroupEnding result;
  const auto killed = [](const auto& death) { return death->by_us && death->ending.signal == SIGKILL; };
  // A second signal that found all ranks gone ended nobody.
  if (second_signal_ != 0 && std::any_of(deaths_.begin(), deaths_.end(), killed)) {
    result.exit = Exit::stopped;
    result.raw_status = 128 + second_signal_;
    result.message = text("ended at once by a second signal, ", signal_name(second_signal_));
    return result;
  }
  if (ended_early_) {
    result.exit = Exit::stopped;
    result.raw_status = 128 + first_signal_;
    result.message = text("ended by ", signal_name(first_signal_), " while the ranks were starting");
    return result;
  }
  if (const auto first = first_cause()) return ending_by(*first);
  const auto stopped = [](const auto& death) { return death->ending.status == stopped_status; };
  if (std::any_of(deaths_.begin(), deaths_.end(), stopped)) {
    result.exit = Exit::stopped;
    result.raw_status = stopped_status;
    result.message = first_signal_ ? text("stopped by ", signal_name(first_signal_)) : "stopped";
  }
  return result;
}

GroupEnding Supervisor::ending_by(size_t rank) const {
  const Ending& ended = deaths_[rank]->ending;
  GroupEnding result;
  result.exit = ended.signal != 0 ? Exit::rank_lost : exit_for(ended.status);
  result.raw_status = static_cast<int>(result.exit);
  result.first_rank = static_cast<int>(rank);
  result.message = describe(rank);
  result.last_lines = last_lines(rank);
  return result;
}

std::string Supervisor::describe(size_t rank) const {
  const Death& death = *deaths_[rank];
  const std::string how = death.ending.signal != 0 ? text("was killed by ", signal_name(death.ending.signal))
                                                   : text("ended with exit status ", death.ending.status);
  return text("rank ", rank, " ", how, " ", where(death.phase, death.step));
}

std::string Supervisor::last_lines(size_t rank) const {
  constexpr std::streamoff most_bytes = 16384;
  constexpr std::ptrdiff_t most_lines = 20;
  std::ifstream log(ranks_[rank].log, std::ios::binary | std::ios::ate);
  if (!log) return "";
  const std::streamoff end = log.tellg();
  const std::streamoff begin =
      std::max(static_cast<std::streamoff>(ranks_[rank].log_start), end - most_bytes);
  if (begin >= end) return "";
  std::string tail(static_cast<size_t>(end - begin), '\0');
  log.seekg(begin);
  log.read(tail.data(), end - begin);
  tail.resize(static_cast<size_t>(log.gcount()));
  std::vector<std::string> lines = split(trim(tail), '\n');
  if (std::ssize(lines) > most_lines) lines.erase(lines.begin(), lines.end() - most_lines);
  return join(lines, "\n");
}

}  // namespace larmor

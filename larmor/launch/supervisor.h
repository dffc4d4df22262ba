// Watches the processes of a run until all have ended, and tells which one was the reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/process.h"
#include "larmor/base/storage.h"
#include "larmor/launch/descriptor.h"
#include "larmor/launch/launcher.h"
#include "larmor/launch/status_board.h"

namespace larmor {

/// launcher.log: one line with its time for each start and ending. A full disk silences it, no more.
class LauncherLog {
 public:
  explicit LauncherLog(const std::filesystem::path& file);
  void line(std::string_view words);

 private:
  DiskStorage storage_;
  SystemClock clock_;
  std::unique_ptr<StorageFile> file_;
};

/// Turns INT, TERM and USR1 into bytes of a pipe while it lives; the handlers of before come back after.
/// One at a time.
class SignalPipe {
 public:
  SignalPipe();
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable when a signal waits.
  int descriptor() const { return read_end_.number(); }
  /// The next signal, or 0.
  int take();

 private:
  Descriptor read_end_, write_end_;
};

struct RankProcess {
  Process process;
  std::filesystem::path log;
  uint64_t log_start = 0;  // bytes that earlier starts wrote
};

/// One thread. Borrows all but the processes.
class Supervisor {
 public:
  Supervisor(std::vector<RankProcess> ranks, const StatusBoard& board, SignalPipe& signals, LauncherLog& log,
             double grace_seconds);
  /// Blocks until every rank has ended.
  GroupEnding run();

 private:
  struct Death {
    Ending ending;
    Phase phase = Phase::starting;
    int64_t step = 0;
    int round = 0;       // of events: those of one round happened at once, as far as we can tell
    bool by_us = false;  // by a signal that we sent or passed on
  };

  void wait_for_events();
  void take_signals();
  void take_endings();
  void end_others();
  void end_overdue();
  void send(size_t rank, int signal);
  void send_all(int signal);
  bool is_failure(const Death& death) const;
  std::optional<size_t> first_cause() const;
  GroupEnding ending() const;
  GroupEnding ending_by(size_t rank) const;
  std::string describe(size_t rank) const;
  std::string last_lines(size_t rank) const;

  std::vector<RankProcess> ranks_;
  std::vector<std::optional<Death>> deaths_;
  std::vector<std::set<int>> sent_;  // signals that each rank got from us
  const StatusBoard& board_;
  SignalPipe& signals_;
  LauncherLog& log_;
  SystemClock clock_;
  double grace_seconds_;
  std::optional<double> deadline_;  // when the rest is killed
  int round_ = 0;
  bool ended_early_ = false;  // the first signal met a rank that did not watch for it yet
  int first_signal_ = 0;
  int second_signal_ = 0;
};

}  // namespace larmor

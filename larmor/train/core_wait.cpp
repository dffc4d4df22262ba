#include "larmor/train/core_wait.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "larmor/base/text.h"
#include "larmor/hardware/free_cores.h"

namespace larmor {

namespace {

constexpr double between_counts = 10, long_enough = 30;  // seconds
constexpr double waits_much = 1.0 / 3, others_use_much = 0.25;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double seconds_run() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

/// Of the threads that there are, by the second number of their schedstat, in nanoseconds.
std::optional<double> seconds_waited() {
  std::error_code problem;
  std::optional<double> all;
  for (std::filesystem::directory_iterator task("/proc/self/task", problem), end; !problem && task != end;
       task.increment(problem)) {
    double ran = 0, waited = 0;
    if (std::ifstream(task->path() / "schedstat") >> ran >> waited) all = all.value_or(0) + waited * 1e-9;
  }
  return all;
}

std::optional<double> busy_seconds(const std::vector<int>& cores) {
  std::ifstream file("/proc/stat");
  const std::string statistics{std::istreambuf_iterator<char>(file), {}};
  const auto ticks = core_ticks(statistics);
  int64_t busy = 0;
  for (const int core : cores) {
    const auto found = ticks.find(core);
    if (found == ticks.end()) return std::nullopt;
    busy += found->second.all - found->second.idle;
  }
  return static_cast<double>(busy) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

CoreSeconds between(const CoreSeconds& first, const CoreSeconds& last) {
  // A thread that has ended takes what it waited with it.
  return {.ran = last.ran - first.ran,
          .waited = std::max(last.waited - first.waited, 0.0),
          .busy = last.busy - first.busy};
}

std::vector<int> cores_of_process(const Plan& plan, int rank) {
  const auto& seats = plan.ranks;
  if (!plan.in_one_process()) return seats.at(static_cast<size_t>(rank)).cores;
  std::vector<int> all;
  if (rank > 0) return all;
  for (const RankSeat& seat : seats) all.insert(all.end(), seat.cores.begin(), seat.cores.end());
  return all;
}

}  // namespace

std::optional<CoreSeconds> count_core_seconds(const std::vector<int>& cores) {
  CoreSeconds counted{.ran = seconds_run()};
  const auto waited = seconds_waited();
  const auto busy = busy_seconds(cores);
  if (!waited || !busy) return std::nullopt;
  counted.waited = *waited;
  counted.busy = *busy;
  return counted;
}

CoreWait::CoreWait(const Plan& plan, int rank)
    : CoreWait(cores_of_process(plan, rank), plan.threads_per_rank) {
  is_over_ = std::getenv("LARMOR_FREE_CORES") != nullptr;
}

std::string CoreWait::look(double now) {
  if (is_over_ || cores_.empty() || (last_ >= 0 && now - last_ < between_counts)) return "";
  const auto counted = count_core_seconds(cores_);
  is_over_ = !counted;
  return counted ? add(now, *counted) : "";
}

std::string CoreWait::add(double now, const CoreSeconds& counted) {
  const double before = std::exchange(last_, now);
  const CoreSeconds first = std::exchange(before_, counted);
  if (is_over_ || before < 0) return "";
  const auto cores = static_cast<double>(cores_.size());
  const auto [ran, waited, busy] = between(first, counted);
  const bool is_bad =
      waited > waits_much * (ran + waited) && busy - ran > others_use_much * cores * (now - before);
  if (!is_bad) {
    bad_since_ = -1;
  } else if (bad_since_ < 0) {
    bad_since_ = before;
    at_start_of_bad_ = first;
  }
  if (!is_bad || now - bad_since_ < long_enough) return "";
  is_over_ = true;
  const auto all = between(at_start_of_bad_, counted);
  const double seconds = now - bad_since_, others = (all.busy - all.ran) / seconds;
  const auto left = std::clamp<int64_t>(std::lround(cores - others), 1, threads_);
  return text(
      "other programs use ", fixed(others, 1), " of this rank's ", cores_.size(),
      cores_.size() == 1 ? " core" : " cores", ": in ", human_seconds(seconds),
      " its threads were kept waiting for ", std::lround(100 * all.waited / (all.ran + all.waited)),
      " % of the time in which they could have run; cores of its own (another host, a job of the scheduler)",
      left < threads_ ? text(", or parallel.threads=", left, ",") : "", " would make it faster");
}

}  // namespace larmor

#include "tests/processes/support/rehearsal.h"

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

namespace {

constexpr double hang_limit = 4, least_hang_limit_at_start = 60;  // seconds
constexpr double seconds_to_come = 240;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Rank 1 has something to save, too.
std::vector<std::string> words(bool few_saves) {
  auto all = small_training("run", 2);
  all = with(all, "checkpoint.every", few_saves ? "10st" : "4st");
  all.emplace_back("parallel.strategy=zero1");
  all.push_back(text("parallel.hang_limit=", hang_limit, "s"));
  return all;
}

/// Where the fault is met, and how launcher.log says so.
struct PlaceInRun {
  const char* step;
  const char* words;
};
PlaceInRun place_of(const std::string& phase) {
  static const std::map<std::string, PlaceInRun> places{
      {"starting", {"0", "while starting"}},
      {"computing", {"6", "while computing step 6"}},
      {"saving", {"8", "while saving step "}},
      {"validating", {"10", "while validating after step 10"}}};
  return places.at(phase);
}

bool speaks_of_rank(int process, int rank) {
  std::ifstream file(text("/proc/", process, "/environ"), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    if (entry == text("LARMOR_RANK=", rank)) return true;
  }
  return false;
}

bool stands_still(int process) {
  std::ifstream file(text("/proc/", process, "/stat"));
  std::string line;
  std::getline(file, line);
  return line.find(") T ") != std::string::npos;
}

/// Inodes of the sockets that a process holds.
std::set<std::string> sockets_of(int process) {
  std::set<std::string> inodes;
  std::error_code gone;
  for (const auto& item : fs::directory_iterator(text("/proc/", process, "/fd"), gone)) {
    const auto target = fs::read_symlink(item.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Inodes of all sockets of this machine that listen.
std::set<std::string> listening_sockets() {
  std::set<std::string> inodes;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream fields(line);
      std::vector<std::string> all(10);
      for (auto& field : all) fields >> field;
      if (all[3] == "0A") inodes.insert(all[9]);
    }
  }
  return inodes;
}

std::set<std::string> shared_memory() {
  std::set<std::string> names;
  std::error_code absent;
  for (const auto& item : fs::directory_iterator("/dev/shm", absent)) {
    const auto name = item.path().filename().string();
    if (name.find("larmor") != std::string::npos || name.find("torch") != std::string::npos)
      names.insert(name);
  }
  return names;
}

}  // namespace

std::string name_of(const ::testing::TestParamInfo<Rehearsed>& info) {
  std::ostringstream name;
  name << info.param;
  return name.str();
}

/// What the processes of a start hold.
struct Rehearsal::Traces {
  explicit Traces(const Running& training) : processes(children_of(training.id())) {
    for (const int process : processes) {
      for (const auto& inode : sockets_of(process)) sockets.insert(inode);
    }
  }

  void expect_gone() const {
    for (const int process : processes) EXPECT_TRUE(is_over(process)) << process;
    const auto listening = listening_sockets();
    for (const auto& inode : sockets) EXPECT_FALSE(listening.contains(inode)) << "a port is left";
    EXPECT_EQ(shared_memory(), memory);
  }

  std::vector<int> processes;
  std::set<std::string> sockets;
  std::set<std::string> memory = shared_memory();
};

ProgramOptions Rehearsal::with_fault() const {
  auto options = here();
  const auto& fault = GetParam();
  options.environment["LARMOR_FAULT"] = text("rank=", fault.rank, " phase=", fault.phase,
                                             " step=", place_of(fault.phase).step, " do=", fault.action);
  return options;
}

std::string Rehearsal::log() const {
  const auto file = run() / "log" / "launcher.log";
  return fs::exists(file) ? read_text(file) : "";
}

int Rehearsal::process_of(const Running& training, int rank) const {
  int found = 0;
  becomes_true(
      [&] {
        for (const int process : children_of(training.id())) {
          if (speaks_of_rank(process, rank)) found = process;
        }
        return found != 0;
      },
      seconds_to_come);
  return found;
}

std::string Rehearsal::sentence() const {
  const auto& action = GetParam().action;
  const auto rank = text("rank ", GetParam().rank);
  if (action == "kill") return rank + " was killed by SIGKILL ";
  if (action == "segfault") return rank + " was killed by SIGSEGV ";
  if (action == "exit") return rank + " ended with exit status 1 ";
  return rank + " hangs: ";
}

void Rehearsal::expect_named_within(double seconds) {
  const double since = steady_seconds();
  const bool named =
      becomes_true([&] { return log().find(sentence()) != std::string::npos; }, seconds_to_come);
  const double waited = steady_seconds() - since;
  ASSERT_TRUE(named) << log();
  EXPECT_LE(waited, seconds);
  std::cout << "named after " << fixed(waited, 3) << " s\n";
  const auto all = log();
  const auto begin = all.find(sentence());
  const auto line = all.substr(begin, all.find('\n', begin) - begin);
  EXPECT_THAT(line, HasSubstr(place_of(GetParam().phase).words));
}

void Rehearsal::expect_going_on(Running& training, const Traces& traces) {
  const double since = steady_seconds();
  const auto is_next_step = [&] {
    const auto steps = events_of(run(), "step");
    return !steps.empty() && steps.back().at("generation") == 1;
  };
  ASSERT_TRUE(becomes_true(is_next_step, seconds_to_come)) << training.err();
  std::cout << "a new step after " << fixed(steady_seconds() - since, 2) << " s\n";
  const auto end = training.wait();
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("restart 1 of 1"));
  EXPECT_THAT(end.err, HasSubstr(sentence()));
  traces.expect_gone();
  expect_the_bits_of_a_run_without_faults();
}

void Rehearsal::expect_the_bits_of_a_run_without_faults() const {
  static std::map<bool, TrainedState> without;
  const bool few_saves = GetParam().action == "full_disk";
  if (!without.contains(few_saves)) {
    const auto end = larmor_program(with(words(few_saves), "run.name", "whole"), here());
    ASSERT_EQ(end.status, 0) << end.err;
    without[few_saves] = trained_state(folder() / "runs" / "whole");
  }
  const auto found = trained_state(run());
  EXPECT_EQ(found.files, without[few_saves].files);
  EXPECT_EQ(found.steps, without[few_saves].steps);
  EXPECT_EQ(found.steps.size(), static_cast<size_t>(small_steps));
}

void Rehearsal::rehearse_death() {
  auto all = words(/*few_saves=*/false);
  all.insert(all.end(), {"--max-restarts", "1"});
  Running training(all, with_fault());
  const int process = process_of(training, GetParam().rank);
  ASSERT_NE(process, 0) << training.err();
  const Traces traces(training);
  ASSERT_TRUE(becomes_true([&] { return is_over(process); }, seconds_to_come)) << training.err();
  constexpr double seconds_to_name = 1;
  expect_named_within(seconds_to_name);
  if (!HasFatalFailure()) expect_going_on(training, traces);
}

void Rehearsal::rehearse_hang() {
  auto all = words(/*few_saves=*/false);
  all.insert(all.end(), {"--max-restarts", "1"});
  Running training(all, with_fault());
  const int process = process_of(training, GetParam().rank);
  ASSERT_NE(process, 0) << training.err();
  const Traces traces(training);
  if (GetParam().action == "stop") {
    ASSERT_TRUE(becomes_true([&] { return stands_still(process); }, seconds_to_come)) << training.err();
  }
  constexpr double allowance = 1.25;
  expect_named_within(allowance * (GetParam().phase == "starting" ? least_hang_limit_at_start : hang_limit));
  if (!HasFatalFailure()) expect_going_on(training, traces);
}

void Rehearsal::rehearse_full_disk() {
  constexpr int environment = 4;
  Running training(words(/*few_saves=*/true), with_fault());
  const int process = process_of(training, GetParam().rank);
  ASSERT_NE(process, 0) << training.err();
  const Traces traces(training);
  const auto end = training.wait();
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr("No space left"));
  const bool lost_its_log = GetParam().rank == 0;  // which rank 0 alone writes
  if (!lost_its_log && GetParam().phase != "starting") {
    std::string warnings;
    for (const auto& event : events_of(run(), "warning"))
      warnings += event.at("text").get<std::string>() + "\n";
    EXPECT_THAT(warnings, HasSubstr("the checkpoint was not saved: rank 1: "));
    EXPECT_EQ(newest_step(run()), small_steps);
  }
  traces.expect_gone();
  const auto again = larmor_program({"train", "run"}, here());
  ASSERT_EQ(again.status, 0) << again.err;
  expect_the_bits_of_a_run_without_faults();
}

}  // namespace larmor::testing

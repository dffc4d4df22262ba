#include "tests/launch/support/acting.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/launch/rank.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/watch/stack_dump.h"
#include "larmor/watch/status_board.h"

namespace larmor {
namespace {

void say(int descriptor, const std::string& words) {
  if (write(descriptor, words.data(), words.size()) < 0) std::exit(99);
}

/// A rank that has said so hears signals. GCC's thread sanitizer loses a signal that arrives while it
/// allocates a thread's record of signals, which it does in the thread's first call that may block; the sleep
/// is that call.
void say_ready() {
  SystemClock().sleep(1e-6);
  say(2, text("ready ", getpid(), "\n"));
}

[[noreturn]] void never_end() {
  while (true) pause();
}

int wait_for_stop() {
  say_ready();
  while (!stop_requested()) SystemClock().sleep(0.005);
  return static_cast<int>(Exit::stopped);
}

/// Ends before the rank after it does, but not before that one watches for signals.
int echo(StatusBoard& board, const Rank& rank, int status) {
  while (board.phase(rank.index + 1) == Phase::starting) SystemClock().sleep(0.001);
  board.set(rank.index, Phase::finished, 0);
  return status;
}

/// A rank in the middle of a step: it sleeps, is stopped, or is alive and at work.
[[noreturn]] int never_answer(const std::string& what, StatusBoard& board, const Rank& rank) {
  dump_stacks_on_signal();
  board.set(rank.index, Phase::computing, 33);
  if (what == "freeze") raise(SIGSTOP);
  while (true) {
    SystemClock().sleep(what == "working" ? 0.02 : 600);
    board.beat(rank.index);
  }
}

/// Ends a little after the rank before it.
int cause(StatusBoard& board, const Rank& rank, int status) {
  board.set(rank.index, Phase::computing, 1);
  while (board.phase(rank.index - 1) != Phase::finished) SystemClock().sleep(0.001);
  SystemClock().sleep(0.05);
  return status;
}

/// The port that a listening socket is bound to; 0 when it does not listen.
int listening_port(int descriptor) {
  int listens = 0;
  socklen_t length = sizeof(listens);
  sockaddr_in address{};
  socklen_t address_length = sizeof(address);
  const bool known = getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 &&
                     getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &address_length) == 0;
  return known && listens ? ntohs(address.sin_port) : 0;
}

void say_facts(const Rank& rank) {
  cpu_set_t set;
  sched_getaffinity(0, sizeof(set), &set);
  std::string facts = text("rank ", rank.index, "/", rank.count, " generation ", rank.generation);
  facts += text(" threads ", std::getenv("OMP_NUM_THREADS"), " ", std::getenv("MKL_NUM_THREADS"));
  facts += text(" devices by ", std::getenv("CUDA_DEVICE_ORDER"), " cores");
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) facts += text(" ", core);
  }
  const bool hears = rank.store_descriptor >= 0 && listening_port(rank.store_descriptor) == rank.master_port;
  facts += text(" store ", rank.store_descriptor < 0 ? "none" : hears ? "listens" : "wrong", "\n");
  say(2, facts);
}

int act(const std::string& what, const Rank& rank) {
  StatusBoard board = StatusBoard::from_environment(rank.index, rank.count);
  if (what.starts_with("end=")) return std::stoi(what.substr(4));
  if (what == "unready") {
    say_ready();
    never_end();
  }
  watch_stop_signals();
  if (what.starts_with("late=")) {
    SystemClock().sleep(0.15);
    return std::stoi(what.substr(5));
  }
  if (what.starts_with("echo=")) return echo(board, rank, std::stoi(what.substr(5)));
  if (what.starts_with("cause=")) return cause(board, rank, std::stoi(what.substr(6)));
  if (what == "wait") return wait_for_stop();
  if (what == "saving") {
    board.set(rank.index, Phase::saving, 40);
    return wait_for_stop();
  }
  if (what == "stubborn") {
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    board.set(rank.index, Phase::computing, 1);
    say_ready();
    never_end();
  }
  if (what == "parent") {
    ProcessOptions child;
    child.program = "/bin/sleep";
    child.arguments = {"600"};
    child.die_with_parent = false;
    Process sleeper = Process::start(child);
    say(2, text("child ", sleeper.id(), " started\n"));
    board.set(rank.index, Phase::computing, 7);
    raise(SIGKILL);
  }
  if (what == "hang" || what == "freeze" || what == "working") return never_answer(what, board, rank);
  if (what.starts_with("kill=")) {
    board.set(rank.index, Phase::computing, 120);
    for (int line = 1; line <= 30; ++line) say(2, text("line ", line, "\n"));
    raise(std::stoi(what.substr(5)));
    never_end();
  }
  if (what == "say") {
    say(1, text("stdout of rank ", rank.index, "\n"));
    say(2, text("stderr of rank ", rank.index, "\n"));
    if (rank.console_out >= 0) say(rank.console_out, text("for the console from rank ", rank.index, "\n"));
    if (rank.console_error >= 0) say(rank.console_error, text("for stderr from rank ", rank.index, "\n"));
    return 0;
  }
  if (what == "facts") {
    say_facts(rank);
    return 0;
  }
  return 98;
}

}  // namespace

Plan plan_for(int ranks) {
  Plan plan;
  plan.ranks.resize(static_cast<size_t>(ranks), RankSeat{-1, {}});
  return plan;
}

LaunchOptions acting(const std::filesystem::path& log_folder, const std::vector<std::string>& acts) {
  LaunchOptions options;
  options.program = own_program();
  options.arguments = acts;
  options.log_folder = log_folder;
  options.console = false;
  return options;
}

std::string wait_for_words(const std::filesystem::path& file, const std::string& words) {
  SystemClock clock;
  const double limit = clock.steady_seconds() + 10;
  while (clock.steady_seconds() < limit) {
    std::ifstream stream(file);
    std::stringstream content;
    content << stream.rdbuf();
    if (content.str().find(words) != std::string::npos) return content.str();
    clock.sleep(0.005);
  }
  ADD_FAILURE() << file << " never held \"" << words << "\"";
  return "";
}

bool ends_within(int process, double seconds) {
  SystemClock clock;
  const double limit = clock.steady_seconds() + seconds;
  while (clock.steady_seconds() < limit) {
    // Where nobody reaps orphans, an ended one stays as a zombie ("pid (name) Z …").
    std::ifstream stat(text("/proc/", process, "/stat"));
    std::string line;
    std::getline(stat, line);
    if (line.empty() || line.find(") Z ") != std::string::npos) return true;
    clock.sleep(0.005);
  }
  return false;
}

}  // namespace larmor

/// `--launcher FOLDER ACT…` launches; a process with LARMOR_RANK acts; everything else runs the tests.
int main(int count, char** values) {
  const std::vector<std::string> arguments(values + 1, values + count);
  if (const auto rank = larmor::find_rank(larmor::process_environment())) {
    return larmor::act(arguments.at(static_cast<size_t>(rank->index)), *rank);
  }
  if (count > 3 && arguments[0] == "--launcher") {
    auto options = larmor::acting(arguments[1], {arguments.begin() + 2, arguments.end()});
    options.console = true;
    return larmor::run_ranks(larmor::plan_for(count - 3), options).raw_status;
  }
  ::testing::InitGoogleTest(&count, values);
  return RUN_ALL_TESTS();
}

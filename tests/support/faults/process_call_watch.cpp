#include "tests/support/faults/process_call_watch.h"

#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <spawn.h>
#include <unistd.h>

namespace larmor::testing {

namespace {

struct Notes {
  std::mutex mutex;
  std::set<pid_t> reaped;
  std::vector<pid_t> signalled;
  int spawns_to_refuse = 0, refused_spawns = 0, refusal = 0;
};

Notes& notes() {
  static auto* const all = new Notes;
  return *all;
}

template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool is_child_again(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  const std::string parent = "PPid:\t" + std::to_string(::getpid());
  for (std::string line; std::getline(status, line);) {
    if (line == parent) return true;
  }
  return false;
}

void note_reaped(pid_t process) {
  if (process <= 0) return;
  const std::lock_guard lock(notes().mutex);
  notes().reaped.insert(process);
}

void note_signal(pid_t process, int signal) {
  if (signal == 0) return;
  const std::lock_guard lock(notes().mutex);
  const pid_t number = std::abs(process);
  if (notes().reaped.contains(number) && !is_child_again(number)) notes().signalled.push_back(process);
}

/// The errno to report, or 0.
int fault_of_spawn() {
  const std::lock_guard lock(notes().mutex);
  if (notes().spawns_to_refuse == 0) return 0;
  --notes().spawns_to_refuse;
  ++notes().refused_spawns;
  return notes().refusal;
}

}  // namespace

int refuse_spawns(int count, int code) {
  const std::lock_guard lock(notes().mutex);
  notes().spawns_to_refuse = count;
  notes().refusal = code;
  return std::exchange(notes().refused_spawns, 0);
}

std::vector<pid_t> signalled_after_reaping() {
  const std::lock_guard lock(notes().mutex);
  return std::exchange(notes().signalled, {});
}

}  // namespace larmor::testing

using larmor::testing::fault_of_spawn;
using larmor::testing::next_of;
using larmor::testing::note_reaped;
using larmor::testing::note_signal;

extern "C" {

int kill(pid_t process, int signal) noexcept {
  static auto* const next = next_of<int(pid_t, int)>("kill");
  note_signal(process, signal);
  return next(process, signal);
}

pid_t waitpid(pid_t process, int* status, int options) {
  static auto* const next = next_of<pid_t(pid_t, int*, int)>("waitpid");
  int ending = 0;
  const pid_t found = next(process, &ending, options);
  if (found > 0 && (WIFEXITED(ending) || WIFSIGNALED(ending))) note_reaped(found);
  if (status != nullptr) *status = ending;
  return found;
}

int waitid(idtype_t kind, id_t which, siginfo_t* facts, int options) {
  static auto* const next = next_of<int(idtype_t, id_t, siginfo_t*, int)>("waitid");
  siginfo_t ending{};
  const int result = next(kind, which, &ending, options);
  const bool has_ended =
      ending.si_code == CLD_EXITED || ending.si_code == CLD_KILLED || ending.si_code == CLD_DUMPED;
  if (result == 0 && (options & WNOWAIT) == 0 && has_ended) note_reaped(ending.si_pid);
  if (facts != nullptr) *facts = ending;
  return result;
}

int posix_spawn(pid_t* process, const char* program, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* words, char* const* environment) {
  static auto* const next = next_of<decltype(posix_spawn)>("posix_spawn");
  if (const int code = fault_of_spawn()) return code;
  return next(process, program, actions, attributes, words, environment);
}

}  // extern "C"

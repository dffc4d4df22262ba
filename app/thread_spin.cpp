// How long a thread of OpenMP that waits for the others keeps its core. Unasked, libgomp has it look 300,000
// times, milliseconds in which the thread that is waited for may be without a core where other programs run,
// too. What the short spin costs on a quiet machine: docs/measurements.md, "Ranks on the cores".
//
// libgomp reads its environment when it is loaded, before main(), and there is no other way to tell it. So
// the program starts itself once more with the variable, before any library is set up: what ld.so has done by
// then is a tenth of a start. Ranks and whatever else is started inherit it. Where /proc is missing, libgomp
// does as ever.
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace larmor::app {

namespace {

// Not const: it becomes part of an environment.
char short_spin[] = "GOMP_SPINCOUNT=1000";  // NOLINT(modernize-avoid-c-arrays)

__attribute__((no_sanitize("address", "thread", "undefined"))) bool says_how_threads_wait(
    std::string_view variable) {
  return variable.starts_with("GOMP_SPINCOUNT=") || variable.starts_with("OMP_WAIT_POLICY=");
}

// Runs before the C library is set up, and before sanitizers and preloaded libraries are: it calls nothing
// but the kernel.
__attribute__((no_sanitize("address", "thread", "undefined"))) void start_with_short_spin(
    int /*count*/, char** words, char** environment) {
  static std::array<char*, 8192> longer;
  size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (says_how_threads_wait(environment[count]) || count + 2 == longer.size()) return;
    longer[count] = environment[count];
  }
  longer[count] = short_spin;
  static std::array<char, 4096> program;
  const auto length =
      ::syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0) return;
  // Where a person has called ld.so with the program as its word, ld.so is what runs.
  const std::string_view path(program.data(), static_cast<std::size_t>(length));
  if (!path.substr(path.rfind('/') + 1).starts_with("ld-"))
    ::syscall(SYS_execve, program.data(), words, longer.data());
}

using Initialiser = void (*)(int, char**, char**);
[[maybe_unused, gnu::section(".preinit_array"), gnu::used]] const Initialiser first = &start_with_short_spin;

}  // namespace

}  // namespace larmor::app

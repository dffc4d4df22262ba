#include "larmor/codec/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <unistd.h>

#include "larmor/base/process/descriptor.h"

namespace larmor {

namespace {

// What decoding takes: messages, memory, time, threads' locks, and the end. No file can be named, no socket
// made, no process started or signalled.
constexpr std::array<uint32_t, 26> allowed_calls = {
    __NR_read,         __NR_sendmsg,         __NR_recvmsg,     __NR_close,           __NR_ppoll,
    __NR_mmap,         __NR_munmap,          __NR_mremap,      __NR_mprotect,        __NR_madvise,
    __NR_brk,          __NR_futex,           __NR_exit,        __NR_exit_group,      __NR_rt_sigreturn,
    __NR_rt_sigaction, __NR_rt_sigprocmask,  __NR_sigaltstack, __NR_restart_syscall, __NR_clock_gettime,
    __NR_nanosleep,    __NR_clock_nanosleep, __NR_sched_yield, __NR_getpid,          __NR_gettid,
    __NR_getrandom};

sock_filter statement(uint16_t code, uint32_t value) { return {code, 0, 0, value}; }

bool filter_calls(uint32_t architecture) {
  if (architecture == 0) return false;  // one whose numbers of calls are not known here
  constexpr uint32_t refuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> program = {
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, architecture},  // over the refusal that follows
      statement(BPF_RET | BPF_K, refuse),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const uint32_t call : allowed_calls) {
    program.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call});  // over the permission that follows
    program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  program.push_back(statement(BPF_RET | BPF_K, refuse));
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0;
}

// linux/landlock.h of the build machine may be older than the kernel that runs this, so its first structure
// is said here, with the fields of version 6. Older kernels take it as long as the fields they do not know
// are zero.
struct LandlockRules {
  uint64_t files = 0, ports = 0, scopes = 0;
};
constexpr long landlock_create = 444, landlock_restrict = 446;
constexpr unsigned landlock_asks_version = 1;

/// Every right that the kernel knows is handled, and none is given.
LandlockRules all_refused(long version) {
  constexpr uint64_t first_files = 0x1fff, refer = 0x2000, truncate = 0x4000, device_control = 0x8000;
  LandlockRules rules{.files = first_files, .ports = 0, .scopes = 0};
  if (version >= 2) rules.files |= refer;
  if (version >= 3) rules.files |= truncate;
  if (version >= 4) rules.ports = 3;  // bind and connect of TCP
  if (version >= 5) rules.files |= device_control;
  if (version >= 6) rules.scopes = 3;  // abstract sockets, signals
  return rules;
}

uint32_t close_files() {
  const long version = ::syscall(landlock_create, nullptr, 0, landlock_asks_version);
  if (version < 1) return 0;
  const LandlockRules rules = all_refused(version);
  const Descriptor ruleset(static_cast<int>(::syscall(landlock_create, &rules, sizeof rules, 0)));
  if (!ruleset.is_open()) return 0;
  const bool is_restricted = ::syscall(landlock_restrict, ruleset.number(), 0) == 0;
  return is_restricted ? static_cast<uint32_t>(version) : 0;
}

}  // namespace

Sandbox enter_sandbox() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return {};
  Sandbox sandbox;
  sandbox.landlock_version = close_files();
  sandbox.has_seccomp = filter_calls(LARMOR_AUDIT_ARCHITECTURE);
  return sandbox;
}

}  // namespace larmor

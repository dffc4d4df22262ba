#include "larmor/base/process/process.h"

#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/signal_mask.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

// What went wrong in the child before the program began; comes back through a pipe.
struct Failure {
  int code = 0;
  enum class Step { parent_gone, group, affinity, descriptors, program } step = Step::program;
};

// Everything the child needs, made ready before the fork: after it the child may not allocate, because
// another thread of the parent may have held the allocator's lock.
class Preparation {
 public:
  explicit Preparation(const ProcessOptions& options)
      : program_(options.program.string()),
        keep_open_(options.keep_open),
        die_with_parent_(options.die_with_parent),
        own_group_(options.own_group),
        parent_(::getpid()) {
    fill_arguments(options);
    fill_environment(options);
    fill_cores(options.cores);
    in_ = lift(options.standard_in);
    out_ = lift(options.standard_out);
    err_ = lift(options.standard_error);
    open_pipe();
  }

  // In the child. Only async-signal-safe calls from here on.
  [[noreturn]] void become_program() const {
    if (die_with_parent_) {
      if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up(Failure::Step::parent_gone, errno);
      // The parent may have ended between the fork and the line above.
      if (::getppid() != parent_) give_up(Failure::Step::parent_gone, ESRCH);
    }
    if (own_group_ && ::setpgid(0, 0) != 0) give_up(Failure::Step::group, errno);
    if (cores_ && ::sched_setaffinity(0, cores_size_, cores_.get()) != 0) {
      give_up(Failure::Step::affinity, errno);
    }
    make_standard(in_, STDIN_FILENO);
    make_standard(out_, STDOUT_FILENO);
    make_standard(err_, STDERR_FILENO);
    // Marked rather than closed: the pipe must still carry the error of exec.
    if (::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
      give_up(Failure::Step::descriptors, errno);
    }
    for (const int descriptor : keep_open_) {
      if (::fcntl(descriptor, F_SETFD, 0) != 0) give_up(Failure::Step::descriptors, errno);
    }
    restore_signals();
    ::execve(program_.c_str(), argv_.data(), envp_.data());
    give_up(Failure::Step::program, errno);
  }

  // In the parent, after the fork. What the child reported, or nothing once the program runs.
  std::optional<Failure> outcome() {
    write_end_.reset();
    Failure failure;
    const ssize_t count = after_signals([&] { return ::read(read_end_.number(), &failure, sizeof failure); });
    if (count != static_cast<ssize_t>(sizeof failure)) return std::nullopt;
    return failure;
  }

 private:
  void fill_arguments(const ProcessOptions& options) {
    argument_texts_.push_back(program_);
    argument_texts_.insert(argument_texts_.end(), options.arguments.begin(), options.arguments.end());
    for (std::string& argument : argument_texts_) argv_.push_back(argument.data());
    argv_.push_back(nullptr);
  }

  void fill_environment(const ProcessOptions& options) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view line(*entry);
      const std::string name(line.substr(0, line.find('=')));
      const bool removed = std::find(options.unset.begin(), options.unset.end(), name) != options.unset.end();
      if (!removed && !options.environment.contains(name)) environment_texts_.emplace_back(line);
    }
    for (const auto& [name, value] : options.environment)
      environment_texts_.push_back(text(name, '=', value));
    for (std::string& entry : environment_texts_) envp_.push_back(entry.data());
    envp_.push_back(nullptr);
  }

  void fill_cores(const std::vector<int>& cores) {
    if (cores.empty()) return;
    const auto count = static_cast<size_t>(*std::max_element(cores.begin(), cores.end()) + 1);
    cores_.reset(CPU_ALLOC(count));
    if (!cores_) throw std::bad_alloc();
    cores_size_ = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(cores_size_, cores_.get());
    for (const int core : cores) CPU_SET_S(static_cast<size_t>(core), cores_size_, cores_.get());
  }

  // A copy above 2, so that making one standard descriptor cannot overwrite the source of the other.
  Descriptor lift(std::optional<int> descriptor) const {
    if (!descriptor) return {};
    Descriptor copy(::fcntl(*descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!copy.is_open()) fail_errno(errno, "hand a descriptor to", program_);
    return copy;
  }

  void make_standard(const Descriptor& source, int number) const {
    if (source.is_open() && ::dup2(source.number(), number) < 0) give_up(Failure::Step::descriptors, errno);
  }

  void open_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_errno(errno, "open a pipe to", program_);
    read_end_.reset(ends[0]);
    const Descriptor low(ends[1]);
    write_end_ = lift(low.number());
  }

  // Handlers of the parent mean nothing in the child, and what the parent blocks the child must hear. Ignored
  // signals stay ignored (nohup).
  static void restore_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
      struct sigaction action{};
      const bool handled = ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
      if (!handled) continue;
      action = {};
      action.sa_handler = SIG_DFL;
      ::sigaction(signal, &action, nullptr);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
  }

  [[noreturn]] void give_up(Failure::Step step, int code) const {
    const Failure failure{.code = code, .step = step};
    const ssize_t written = ::write(write_end_.number(), &failure, sizeof failure);
    ::_exit(written == static_cast<ssize_t>(sizeof failure) ? 127 : 126);
  }

  std::string program_;
  std::vector<int> keep_open_;
  bool die_with_parent_, own_group_;
  pid_t parent_;
  std::vector<std::string> argument_texts_, environment_texts_;
  std::vector<char*> argv_, envp_;
  struct FreeCores {
    void operator()(cpu_set_t* cores) const { CPU_FREE(cores); }
  };
  std::unique_ptr<cpu_set_t, FreeCores> cores_;
  size_t cores_size_ = 0;
  Descriptor in_, out_, err_, read_end_, write_end_;
};

std::string_view action_of(Failure::Step step) {
  switch (step) {
    case Failure::Step::parent_gone:
      return "start (the starter has ended)";
    case Failure::Step::group:
      return "make a process group of";
    case Failure::Step::affinity:
      return "bind to the cores asked for";
    case Failure::Step::descriptors:
      return "hand descriptors to";
    case Failure::Step::program:
      return "start";
  }
  return "start";
}

Ending to_ending(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.status = 0, .signal = WTERMSIG(wait_status)};
  return {.status = WEXITSTATUS(wait_status), .signal = 0};
}

}  // namespace

std::string Ending::describe() const {
  return signal != 0 ? text("killed by ", signal_name(signal)) : text("exit status ", status);
}

Process Process::start(const ProcessOptions& options) {
  Preparation preparation(options);
  Process process;
  process.own_group_ = options.own_group;
  {
    // No handler of the parent may run in the child, so nothing is delivered while the two are alike.
    const SignalsBlocked held = SignalsBlocked::all();
    process.id_ = ::fork();
    if (process.id_ == 0) preparation.become_program();
  }
  if (process.id_ < 0) fail_errno(errno, "start a process for", options.program);
  if (const std::optional<Failure> failure = preparation.outcome()) {
    process.wait();
    fail_errno(failure->code, action_of(failure->step), options.program);
  }
  // The header of glibc 2.36 for this call cannot be used from C++.
  process.pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, process.id_, 0)));
  if (!process.pidfd_.is_open() && errno == ESRCH) {
    // Where SIGCHLD is ignored the kernel has reaped a child that has ended already: a descriptor that is
    // ready stands for it.
    process.ending_ = Ending{.status = 1};
    process.pidfd_.reset(::eventfd(1, EFD_CLOEXEC));
  }
  if (!process.pidfd_.is_open()) fail_errno(errno, "watch the process of", options.program);
  return process;
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      pidfd_(std::move(other.pidfd_)),
      own_group_(other.own_group_),
      ending_(std::exchange(other.ending_, std::nullopt)) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  end();
  id_ = std::exchange(other.id_, -1);
  pidfd_ = std::move(other.pidfd_);
  own_group_ = other.own_group_;
  ending_ = std::exchange(other.ending_, std::nullopt);
  return *this;
}

Process::~Process() { end(); }

void Process::end() {
  if (id_ <= 0 || ending_) return;
  send(SIGKILL);
  reap(0);
}

// The child's number, and its group's, stay its own until waitpid(): what it has left running is killed
// before.
void Process::reap(int flags) {
  siginfo_t facts{};
  const auto wait = [&] {
    return ::waitid(P_PID, static_cast<id_t>(id_), &facts, WEXITED | WNOWAIT | flags);
  };
  if (after_signals(wait) != 0) {
    // ECHILD: somebody ignores SIGCHLD, and the kernel has thrown the status away.
    ending_ = Ending{.status = 1, .signal = 0};
    return;
  }
  if (facts.si_pid == 0) return;  // WNOHANG, and it runs
  // Whatever is left of it: mostly nothing.
  if (own_group_) static_cast<void>(::kill(-id_, SIGKILL));
  int status = 0;
  static_cast<void>(after_signals([&] { return ::waitpid(id_, &status, 0); }));  // it has ended
  ending_ = to_ending(status);
}

std::optional<Ending> Process::poll() {
  if (id_ > 0 && !ending_) reap(WNOHANG);
  return ending_;
}

Ending Process::wait() {
  assert(id_ > 0);
  if (!ending_) reap(0);
  return *ending_;
}

// A child that has ended by then has no need of it. By the pidfd, since the kernel reaps by itself where
// SIGCHLD is ignored, and then the number may be another's.
void Process::send(int signal) {
  if (id_ <= 0 || ending_) return;
  if (pidfd_.is_open())
    static_cast<void>(::syscall(SYS_pidfd_send_signal, pidfd_.number(), signal, nullptr, 0));
  else
    static_cast<void>(::kill(id_, signal));
}

std::filesystem::path own_program() {
  std::error_code error;
  std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) fail_errno(error.value(), "find the own program through", "/proc/self/exe");
  return program;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation != nullptr ? text("SIG", abbreviation) : text("signal ", signal);
}

}  // namespace larmor

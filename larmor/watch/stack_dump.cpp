#include "larmor/watch/stack_dump.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>

#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"
#include "larmor/watch/symbol_names.h"

namespace larmor {
namespace {

// A thread that hangs may hold any lock, so that nothing here takes one of ours, and nothing takes memory but
// the reader of names, on a thread of its own.

constexpr int deepest_stack = 64;
constexpr size_t most_threads = 1024;

int thread_signal() { return SIGRTMIN + 6; }

/// What a thread answers with. `state` is the number of the request times four, plus one of these.
enum : uint64_t { asked = 0, writing = 1, answered = 2, given_up = 3 };
struct StackAnswer {
  std::atomic<uint64_t> state = given_up;
  std::array<void*, deepest_stack> frames{};
  int depth = 0;
};

// A handler can reach nothing but globals.
StackAnswer stack_answer;
std::atomic<int> dumping_thread = 0;

/// Text of bounded length for one write.
class StackLine {
 public:
  StackLine& operator<<(std::string_view words) {
    const size_t length = std::min(words.size(), text_.size() - length_);
    std::memcpy(text_.data() + length_, words.data(), length);
    length_ += length;
    return *this;
  }
  StackLine& operator<<(uint64_t number) {
    char digits[20];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0) *this << std::string_view(&digits[--count], 1);
    return *this;
  }
  void hexadecimal(uint64_t number) {
    int shift = 60;
    while (shift > 0 && number >> shift == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) *this << std::string_view(&"0123456789abcdef"[number >> shift & 15], 1);
  }
  void write_out() {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text_.data(), length_);
    length_ = 0;
  }
  const char* c_str() {
    text_[std::min(length_, text_.size() - 1)] = '\0';
    return text_.data();
  }

 private:
  std::array<char, 512> text_;
  size_t length_ = 0;
};

/// The first line of /proc/self/task/<thread>/<name>.
std::string_view task_file(uint64_t thread, std::string_view name, std::array<char, 128>& buffer) {
  StackLine path;
  path << "/proc/self/task/" << thread << "/" << name;
  const Descriptor file(after_signals([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (!file.is_open()) return {};
  const ssize_t length = after_signals([&] { return read(file.number(), buffer.data(), buffer.size()); });
  if (length <= 0) return {};
  const std::string_view all(buffer.data(), static_cast<size_t>(length));
  return all.substr(0, all.find('\n'));
}

void answer_with_stack(int, siginfo_t* facts, void*) {
  const int saved = errno;
  const auto request = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(facts->si_value.sival_ptr));
  uint64_t expected = request * 4 + asked;
  if (stack_answer.state.compare_exchange_strong(expected, request * 4 + writing)) {
    stack_answer.depth = backtrace(stack_answer.frames.data(), deepest_stack);
    stack_answer.state.store(request * 4 + answered);
  }
  errno = saved;
}

/// For a thread that does not have the signal blocked.
void pass_to_dumping_thread(int signal) {
  const int saved = errno;
  static_cast<void>(syscall(SYS_tgkill, getpid(), dumping_thread.load(), signal));
  errno = saved;
}

/// Whether the thread has put its frames into stack_answer.
bool ask_for_stack(uint64_t thread, uint64_t request, int patience_ms) {
  siginfo_t facts{};
  facts.si_signo = thread_signal();
  facts.si_code = SI_QUEUE;
  facts.si_pid = getpid();
  facts.si_uid = getuid();
  facts.si_value.sival_ptr = reinterpret_cast<void*>(static_cast<uintptr_t>(request));
  stack_answer.state.store(request * 4 + asked);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), static_cast<pid_t>(thread), thread_signal(), &facts) != 0)
    return false;
  constexpr timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int waited = 0; waited < patience_ms; ++waited) {
    if (stack_answer.state.load() == request * 4 + answered) return true;
    nanosleep(&moment, nullptr);
  }
  uint64_t expected = request * 4 + asked;
  if (stack_answer.state.compare_exchange_strong(expected, request * 4 + given_up)) return false;
  // It is at it now. Unwinding takes no lock that another thread could hold for long.
  while (stack_answer.state.load() != request * 4 + answered) nanosleep(&moment, nullptr);
  return true;
}

void say_what_it_waits_for(uint64_t thread, StackLine& line) {
  std::array<char, 128> buffer;
  const auto state = task_file(thread, "stat", buffer);
  const size_t name_end = state.rfind(") ");
  if (name_end != std::string_view::npos) line << "; state " << state.substr(name_end + 2, 1);
  if (const auto place = task_file(thread, "wchan", buffer); !place.empty() && place != "0")
    line << ", in the kernel's " << place;
  if (const auto call = task_file(thread, "syscall", buffer); !call.empty())
    line << ", system call " << call.substr(0, call.find(' '));
}

/// Threads of this process; how many fit.
size_t list_threads(std::array<uint64_t, most_threads>& threads) {
  const Descriptor folder(
      after_signals([] { return open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.is_open()) return 0;
  size_t count = 0;
  alignas(8) std::array<char, 4096> entries;
  while (true) {
    const long length = syscall(SYS_getdents64, folder.number(), entries.data(), entries.size());
    if (length <= 0) break;
    // A record: 8 bytes inode, 8 bytes offset, 2 bytes length of the record, 1 byte kind, the name.
    for (long place = 0; place < length;) {
      uint16_t record = 0;
      std::memcpy(&record, &entries[static_cast<size_t>(place) + 16], sizeof(record));
      uint64_t thread = 0;
      for (const char* name = &entries[static_cast<size_t>(place) + 19]; *name >= '0' && *name <= '9'; ++name)
        thread = thread * 10 + static_cast<uint64_t>(*name - '0');
      if (thread != 0 && count < threads.size()) threads[count++] = thread;
      place += record;
    }
  }
  return count;
}

/// "  larmor::Step::run() + 18 in /usr/bin/larmor (0x5ee98)"
void say_frame(const SymbolNames& names, const void* address, StackLine& line) {
  const SymbolName found = names.find(address);
  line << "  ";
  if (!found.name.empty()) {
    int problem = 0;
    char* const words = abi::__cxa_demangle(found.name.data(), nullptr, nullptr, &problem);
    line << (words ? std::string_view(words).substr(0, 300) : found.name) << " + " << found.offset << " ";
    std::free(words);
  }
  line << "in " << (found.file.empty() ? "an unknown place" : found.file.substr(0, 150)) << " (0x";
  line.hexadecimal(found.file.empty() ? reinterpret_cast<uint64_t>(address) : found.file_offset);
  line << ")\n";
  line.write_out();
}

void dump_all_stacks(const SymbolNames& names) {
  static std::array<uint64_t, most_threads> threads;
  static uint64_t request = 0;
  const size_t count = list_threads(threads);
  StackLine line;
  line << "stacks of process " << static_cast<uint64_t>(getpid()) << " begin\n";
  line.write_out();
  int silent = 0;
  for (size_t i = 0; i < count; ++i) {
    if (threads[i] == static_cast<uint64_t>(dumping_thread.load())) continue;
    std::array<char, 128> buffer;
    line << "thread " << threads[i] << " \"" << task_file(threads[i], "comm", buffer) << "\"";
    const bool has_answered = ask_for_stack(threads[i], ++request, silent < 3 ? 1000 : 100);
    if (!has_answered) {
      ++silent;
      line << " does not answer";
      say_what_it_waits_for(threads[i], line);
    }
    line << "\n";
    line.write_out();
    // The first two frames are the handler and the kernel's return from it.
    constexpr int own_frames = 2;
    for (int frame = own_frames; has_answered && frame < stack_answer.depth; ++frame)
      say_frame(names, stack_answer.frames[static_cast<size_t>(frame)], line);
  }
  line << "stacks of process " << static_cast<uint64_t>(getpid()) << " end\n";
  line.write_out();
}

[[noreturn]] void wait_for_requests() {
  pthread_setname_np(pthread_self(), "stacks");
  const SymbolNames names;
  dumping_thread = static_cast<int>(syscall(SYS_gettid));
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, stack_signal());
  while (true) {
    int signal = 0;
    if (sigwait(&wanted, &signal) == 0) dump_all_stacks(names);
  }
}

char state_letter(const std::filesystem::path& stat) {
  std::ifstream stream(stat);
  std::string line;
  std::getline(stream, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= line.size() ? '\0' : line[name_end + 2];
}

bool has_blocked_thread(const std::filesystem::path& process) {
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(process / "task", error)) {
    if (state_letter(thread.path() / "stat") == 'D') return true;
  }
  return false;
}

}  // namespace

int stack_signal() { return SIGUSR2; }

void dump_stacks_on_signal() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads the unwinder
  struct sigaction action{};
  action.sa_sigaction = answer_with_stack;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(thread_signal(), &action, nullptr);
  action = {};
  action.sa_handler = pass_to_dumping_thread;
  action.sa_flags = SA_RESTART;
  sigaction(stack_signal(), &action, nullptr);
  // All threads that start from here on leave the signal to the one that waits for it: the kernel might give
  // it to a thread that is blocked in the kernel itself.
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, stack_signal());
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  std::thread(wait_for_requests).detach();
  while (dumping_thread.load() == 0) std::this_thread::yield();
}

std::string process_state(pid_t process) {
  const std::filesystem::path folder = text("/proc/", process);
  const char state = state_letter(folder / "stat");
  if (state == 'T' || state == 't') return "stopped by a signal";
  if (state == '\0' || state == 'Z' || state == 'X') return "ended";
  if (has_blocked_thread(folder)) return "waiting for a disk or a network file system";
  return state == 'R' ? "running" : "sleeping";
}

}  // namespace larmor

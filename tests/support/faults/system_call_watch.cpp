#include "tests/support/faults/system_call_watch.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace larmor::testing {

namespace {

std::atomic<SystemCallWatch*> current{nullptr};

std::filesystem::path path_of(int descriptor) {
  std::array<char, 4096> target{};
  const auto link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<size_t>(length));
}

// The errno to report, or 0.
int fault_at(const char* name, const std::filesystem::path& path) {
  auto* watch = current.load();
  return watch == nullptr ? 0 : watch->enter(name, path);
}

int fault_at(const char* name, int folder, const char* path) {
  if (current.load() == nullptr) return 0;
  const std::filesystem::path given(path);
  return fault_at(name, given.is_absolute() || folder == AT_FDCWD ? given : path_of(folder) / given);
}

int fault_of(const char* name, int descriptor) {
  return current.load() == nullptr ? 0 : fault_at(name, path_of(descriptor));
}

template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int refused(int error) {
  errno = error;
  return -1;
}

}  // namespace

SystemCallWatch::SystemCallWatch(const std::filesystem::path& folder, Fault fault)
    : folder_(folder.string()), fault_(std::move(fault)) {
  if (current.exchange(this) != nullptr) throw std::logic_error("there is a watch already");
}

SystemCallWatch::~SystemCallWatch() { current = nullptr; }

int SystemCallWatch::enter(const char* name, const std::filesystem::path& path) {
  const auto whole = path.string();
  if (!whole.starts_with(folder_)) return 0;
  const std::lock_guard lock(mutex_);
  SystemCall call{name, path.lexically_relative(folder_).string()};
  constexpr std::string_view partial = ".partial-";  // and a random number
  if (const auto mark = call.path.find(partial); mark != std::string::npos)
    call.path.resize(mark + partial.size());
  call.number = static_cast<size_t>(std::ranges::count_if(
      calls_, [&](const auto& other) { return other.name == call.name && other.path == call.path; }));
  calls_.push_back(call);
  return fault_ ? fault_(call) : 0;
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace larmor::testing

using larmor::testing::fault_at;
using larmor::testing::fault_of;
using larmor::testing::next_of;
using larmor::testing::refused;

// The C library's names. Each looks for a watch, and calls the next function of its name: the C library's
// own, or a sanitizer's.
extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const next = next_of<int(const char*, int, ...)>("open");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (const int error = fault_at("open", AT_FDCWD, path)) return refused(error);
  return next(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
  static auto* const next = next_of<int(int, const char*, int, ...)>("openat");
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  const char* name = (flags & O_DIRECTORY) != 0 ? "list" : "open";
  if (const int error = fault_at(name, folder, path)) return refused(error);
  return next(folder, path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t count) {
  static auto* const next = next_of<ssize_t(int, const void*, size_t)>("write");
  if (const int error = fault_of("write", file)) return refused(error);
  return next(file, bytes, count);
}

int fsync(int file) {
  static auto* const next = next_of<int(int)>("fsync");
  if (const int error = fault_of("fsync", file)) return refused(error);
  return next(file);
}

int close(int file) {
  static auto* const next = next_of<int(int)>("close");
  const int error = fault_of("close", file);
  const int result = next(file);
  return error != 0 ? refused(error) : result;
}

int rename(const char* from, const char* to) noexcept {
  static auto* const next = next_of<int(const char*, const char*)>("rename");
  if (const int error = fault_at("rename", AT_FDCWD, to)) return refused(error);
  return next(from, to);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const next = next_of<int(const char*, mode_t)>("mkdir");
  if (const int error = fault_at("mkdir", AT_FDCWD, path)) return refused(error);
  return next(path, mode);
}

int symlink(const char* target, const char* path) noexcept {
  static auto* const next = next_of<int(const char*, const char*)>("symlink");
  if (const int error = fault_at("symlink", AT_FDCWD, path)) return refused(error);
  return next(target, path);
}

int unlink(const char* path) noexcept {
  static auto* const next = next_of<int(const char*)>("unlink");
  if (const int error = fault_at("unlink", AT_FDCWD, path)) return refused(error);
  return next(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static auto* const next = next_of<int(int, const char*, int)>("unlinkat");
  if (const int error = fault_at("unlink", folder, path)) return refused(error);
  return next(folder, path, flags);
}

int chmod(const char* path, mode_t mode) noexcept {
  static auto* const next = next_of<int(const char*, mode_t)>("chmod");
  if (const int error = fault_at("chmod", AT_FDCWD, path)) return refused(error);
  return next(path, mode);
}

int fchmod(int file, mode_t mode) noexcept {
  static auto* const next = next_of<int(int, mode_t)>("fchmod");
  if (const int error = fault_of("chmod", file)) return refused(error);
  return next(file, mode);
}

int statvfs(const char* path, struct statvfs* status) noexcept {
  static auto* const next = next_of<int(const char*, struct statvfs*)>("statvfs");
  if (const int error = fault_at("statvfs", AT_FDCWD, path)) return refused(error);
  return next(path, status);
}

}  // extern "C"

// What a constructor leaves that throws: nothing.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace larmor::testing {

/// What this process holds of what has to be given back.
struct Held {
  std::size_t descriptors = 0, threads = 0, mapped_files = 0;
  bool children = false;

  static Held now() {
    Held held;
    held.descriptors = items_of("/proc/self/fd");
    held.threads = items_of("/proc/self/task");
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      held.mapped_files += line.find(" rw-s ") != line.npos ? 1 : 0;
    held.children = ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
    return held;
  }
  bool operator==(const Held&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Held& held) {
    return out << held.descriptors << " descriptors, " << held.threads << " threads, " << held.mapped_files
               << " mapped files" << (held.children ? ", children" : "");
  }

 private:
  static std::size_t items_of(const char* folder) {
    const std::filesystem::directory_iterator items(folder);
    return static_cast<std::size_t>(std::distance(begin(items), end(items)));
  }
};

/// Equal to `before`, unless something stays: the kernel takes a thread off its list after those who join it
/// go on.
inline Held held_after(const Held& before) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    const Held now = Held::now();
    if (now == before || std::chrono::steady_clock::now() > deadline) return now;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Into the reports of the tests: how many starts have failed in this process, and how many descriptors are
/// left of them.
inline void record_figure(int failing_starts, const Held& before, const Held& after) {
  static int64_t all_starts = 0, all_left = 0;
  all_starts += failing_starts;
  all_left += static_cast<int64_t>(after.descriptors) - static_cast<int64_t>(before.descriptors);
  ::testing::Test::RecordProperty("failing_starts", all_starts);
  ::testing::Test::RecordProperty("descriptors_left", all_left);
}

/// While it lives only so many descriptors more can be opened.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    few.rlim_cur = 0;
    for (int left = more; left > 0 || ::fcntl(static_cast<int>(few.rlim_cur), F_GETFD) >= 0; ++few.rlim_cur)
      left -= ::fcntl(static_cast<int>(few.rlim_cur), F_GETFD) < 0 ? 1 : 0;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

/// `start` twenty times in each of the states in which it lacks one descriptor more than in the state before,
/// until it has all that it takes.
template <class Start>
void expect_nothing_left_without_descriptors(const Start& start) {
  start();  // what the C library opens for good is open from here on
  const Held before = Held::now();
  int failures = 0;
  for (int more = 0; more < 100; ++more) {
    const int failures_before = failures;
    for (int i = 0; i < 20; ++i) {
      const DescriptorLimit limit(more);
      try {
        start();
      } catch (const std::exception&) {
        ++failures;
      }
    }
    EXPECT_EQ(held_after(before), before) << "with " << more << " descriptors";
    if (failures == failures_before) break;
  }
  EXPECT_GE(failures, 20);
  record_figure(failures, before, Held::now());
}

/// Of a start that fails whatever there is.
template <class Start>
void expect_nothing_left(const Start& start) {
  const auto fails = [&] { EXPECT_ANY_THROW(start()); };
  fails();
  const Held before = Held::now();
  for (int i = 0; i < 20; ++i) fails();
  EXPECT_EQ(held_after(before), before);
  record_figure(20, before, Held::now());
}

}  // namespace larmor::testing

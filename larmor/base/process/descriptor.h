// A file descriptor with one owner, which closes it.
#pragma once

#include <cerrno>
#include <utility>

#include <unistd.h>

namespace larmor {

/// What opens a descriptor puts it in here at once, so that whatever throws later closes it.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes it; a negative number, as failing calls give it, is none.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  /// Closes what this one held.
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  /// Gives the descriptor up for another owner, which closes it instead.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  /// Closes what it holds, and takes another one. What closing says is lost: close() is for files that were
  /// written. Leaves errno as it is.
  void reset(int number = -1) noexcept {
    const int before = errno;
    static_cast<void>(close());
    errno = before;
    number_ = number;
  }
  /// 0, or the errno of the failure: network file systems report here that a write has failed. The descriptor
  /// is gone all the same, after a signal (EINTR) too, which is no failure.
  [[nodiscard]] int close() noexcept {
    if (number_ < 0 || ::close(release()) == 0 || errno == EINTR) return 0;
    return errno;
  }

 private:
  int number_ = -1;
};

}  // namespace larmor

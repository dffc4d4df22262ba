// What a failed system call means to a person: the text of errno and what to do about it.
#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>

namespace larmor {

/// Throws Error (environment): "cannot <action> <path>: No space left on device", with the hint that fits.
[[noreturn]] void fail_errno(int code, std::string_view action, const std::filesystem::path& path);

/// The result of a system call that says -1 and errno on failure; called anew while a signal has interrupted
/// it.
template <class Call>
auto after_signals(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace larmor

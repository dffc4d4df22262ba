// What a failed system call means to a person: the text of errno and what to do about it.
#pragma once

#include <filesystem>
#include <string_view>

namespace larmor {

/// Throws Error (environment): "cannot <action> <path>: No space left on device", with the hint that fits.
[[noreturn]] void fail_errno(int code, std::string_view action, const std::filesystem::path& path);

}  // namespace larmor

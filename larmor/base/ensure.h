// Checks of what cannot be otherwise unless larmor itself is wrong, in code that foreign bytes come through.
// An assert would be gone in a release build, and behind these lies memory that the bytes must not reach.
#pragma once

namespace larmor {

/// Throws std::logic_error that names the place.
[[noreturn]] void report_broken_assumption(const char* file, const char* function, int line);

/// Throws std::logic_error unless the condition holds: the program ends with status 1 as a fault of larmor.
/// For what a person, a file or the machine got wrong there is require() of base/error.h. The place is the
/// caller's, by what every compiler knows that builds larmor: clang 14 has no std::source_location.
inline void ensure(bool condition, const char* file = __builtin_FILE(),
                   const char* function = __builtin_FUNCTION(), int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    report_broken_assumption(file, function, line);
}

}  // namespace larmor

// Checks of what cannot be otherwise unless larmor itself is wrong, in code that foreign bytes come through. An
// assert would be gone in a release build, and behind these lies memory that the bytes must not reach.
#pragma once

#include <source_location>

namespace larmor {

/// Throws std::logic_error that names `place`.
[[noreturn]] void report_broken_assumption(const std::source_location& place);

/// Throws std::logic_error unless the condition holds: the program ends with status 1 as a fault of larmor. For what a
/// person, a file or the machine got wrong there is require() of base/error.h.
inline void ensure(bool condition, const std::source_location& place = std::source_location::current()) {
  if (!condition) [[unlikely]]
    report_broken_assumption(place);
}

}  // namespace larmor

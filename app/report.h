// How the program says what ended it.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace larmor::app {

/// Tells the person; the exit status (docs/cli.md). What is no std::exception is thrown on.
int report(const std::exception_ptr& failure);
/// What report() said last in these lines of a rank's log, without its hint; "" where it said nothing.
std::string cause_in(std::string_view log_lines);

}  // namespace larmor::app

// How the program says what ended it.
#pragma once

#include <exception>

namespace larmor::app {

/// Tells the person; the exit status (docs/cli.md). What is no std::exception is thrown on.
int report(const std::exception_ptr& failure);

}  // namespace larmor::app

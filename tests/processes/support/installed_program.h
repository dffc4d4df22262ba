// Programs of others that may be installed or not.
#pragma once

#include <filesystem>
#include <string>

namespace larmor::testing {

/// Where it is, by PATH and the folders of daemons; empty when it is not installed.
std::filesystem::path installed_program(const std::string& name);

}  // namespace larmor::testing

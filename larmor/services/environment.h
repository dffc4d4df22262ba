// What says who a person is to a service: variables of the environment and files of keys.
#pragma once

#include <filesystem>
#include <string>

namespace larmor {

/// The value of the environment; "" where it is not set.
std::string variable(const char* name);
/// The value of "name = value" below [section] of the file, which lies in the home folder; "" where the file
/// or the line is not there.
std::string value_at_home(const std::filesystem::path& file, const std::string& section,
                          const std::string& name);

}  // namespace larmor

// What the libraries that people use make of our files.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/base/json.h"

namespace larmor::testing {

/// Whether LARMOR_ORACLES names a Python environment (tests/peers/requirements.txt).
bool has_oracles();

/// What tests/peers/<script> prints of that file or folder.
Json ask_oracle(const std::string& script, const std::filesystem::path& file);

}  // namespace larmor::testing

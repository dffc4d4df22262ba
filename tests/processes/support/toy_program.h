// The program with the workload of the tests (tests/toy/workload.h).
#pragma once

#include <cstdlib>
#include <filesystem>

namespace larmor::testing {

/// Beside the larmor of this build, which LARMOR_PROGRAM names.
inline std::filesystem::path toy_program() {
  const std::filesystem::path program = std::getenv("LARMOR_PROGRAM");
  return program.parent_path().parent_path() / "tests" / "toy" / "bin" / "larmor";
}

}  // namespace larmor::testing

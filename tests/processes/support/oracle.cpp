#include "tests/processes/support/oracle.h"

#include <cstdlib>

#include "larmor/base/error.h"

#include "tests/processes/support/program_run.h"

namespace larmor::testing {

bool has_oracles() { return std::getenv("LARMOR_ORACLES") != nullptr; }

Json ask_oracle(const std::string& script, const std::filesystem::path& file) {
  const std::filesystem::path oracles = std::getenv("LARMOR_ORACLES"), source = std::getenv("LARMOR_SOURCE");
  const auto end = larmor_program({(source / "tests" / "peers" / script).string(), file.string()},
                                  {.program = oracles / "bin" / "python"});
  if (end.status != 0) fail(Exit::unexpected, script + " failed: " + end.err);
  return end.json();
}

}  // namespace larmor::testing

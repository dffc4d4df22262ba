#include "larmor/base/version.h"

#include <utility>

#include "larmor/base/text.h"

namespace larmor {
namespace {

std::string& said_commit() {
  static std::string commit;
  return commit;
}

}  // namespace

const char* version() { return LARMOR_VERSION; }

void set_commit(std::string commit) { said_commit() = std::move(commit); }

std::string program_name() {
  const auto& commit = said_commit();
  return text("larmor ", version(), commit.empty() ? "" : " commit ", commit);
}

}  // namespace larmor

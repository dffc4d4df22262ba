#include "larmor/base/ensure.h"

#include <filesystem>
#include <stdexcept>

#include "larmor/base/text.h"

namespace larmor {

void report_broken_assumption(const char* file, const char* function, int line) {
  throw std::logic_error(text("an assumption does not hold in ", function, " (",
                              std::filesystem::path(file).filename().string(), ":", line, ")"));
}

}  // namespace larmor

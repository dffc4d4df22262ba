#include "larmor/base/ensure.h"

#include <filesystem>
#include <stdexcept>

#include "larmor/base/text.h"

namespace larmor {

void report_broken_assumption(const std::source_location& place) {
  throw std::logic_error(text("an assumption does not hold in ", place.function_name(), " (",
                              std::filesystem::path(place.file_name()).filename().string(), ":", place.line(),
                              ")"));
}

}  // namespace larmor

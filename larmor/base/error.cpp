#include "larmor/base/error.h"

#include <utility>

namespace larmor {

Error::Error(Exit exit, std::string message, std::string hint)
    : std::runtime_error(hint.empty() ? message : message + "\n  hint: " + hint),
      exit_(exit),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

Error Error::within(std::string_view context) const {
  return Error(exit_, std::string(context) + ": " + message_, hint_);
}

void fail(Exit exit, std::string message, std::string hint) {
  throw Error(exit, std::move(message), std::move(hint));
}

}  // namespace larmor

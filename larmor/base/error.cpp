#include "larmor/base/error.h"

#include <utility>

#include "larmor/base/printable.h"

namespace larmor {

namespace {

/// Whatever files, names and peers brought into the words: from here on they can be shown anywhere.
std::string made_printable(std::string& message, std::string& hint) {
  message = bounded(message);
  hint = bounded(hint);
  return hint.empty() ? message : message + "\n  hint: " + hint;
}

}  // namespace

Error::Error(Exit exit, std::string message, std::string hint)
    : std::runtime_error(made_printable(message, hint)),
      exit_(exit),
      message_(std::move(message)),
      hint_(std::move(hint)) {}

Error Error::within(std::string_view context) const {
  return Error(exit_, std::string(context) + ": " + with_items_again(message_), hint_);
}

void fail(Exit exit, std::string message, std::string hint) {
  throw Error(exit, std::move(message), std::move(hint));
}

}  // namespace larmor

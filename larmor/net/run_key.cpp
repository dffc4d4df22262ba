#include "larmor/net/run_key.h"

#include <fcntl.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/memory_file.h"
#include "larmor/base/random_bytes.h"
#include "larmor/base/text.h"

namespace larmor {
RunKey RunKey::draw() {
  RunKey key;
  fill_with_random(key.bytes_);
  return key;
}

std::optional<RunKey> RunKey::from_hex(std::string_view digits) {
  constexpr std::string_view hex_digits = "0123456789abcdef";
  RunKey key;
  if (digits.size() != 2 * key.bytes_.size()) return std::nullopt;
  for (size_t i = 0; i < digits.size(); ++i) {
    const auto value = hex_digits.find(digits[i]);
    if (value == std::string_view::npos) return std::nullopt;
    key.bytes_[i / 2] = (key.bytes_[i / 2] << 4) | static_cast<std::byte>(value);
  }
  return key;
}

std::string RunKey::hex() const { return to_hex(bytes_); }

Descriptor RunKey::to_descriptor() const { return memory_file(as_text(bytes_), "the ranks' key"); }

RunKey RunKey::from_descriptor(int descriptor) {
  RunKey key;
  const bool is_read = pread(descriptor, key.bytes_.data(), key.bytes_.size(), 0) == std::ssize(key.bytes_);
  // What this process starts does not get it.
  if (!is_read || fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0) {
    fail(Exit::environment, text("LARMOR_STORE_KEY_FD=", descriptor, " is not the ranks' key"),
         "only larmor's own launcher sets this variable: unset it");
  }
  return key;
}

RunKey RunKey::derived(std::string_view purpose) const {
  RunKey key;
  key.bytes_ = code({"larmor key for ", purpose});
  return key;
}

}  // namespace larmor

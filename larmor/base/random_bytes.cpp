#include "larmor/base/random_bytes.h"

#include <sys/random.h>

#include <array>
#include <string_view>

#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"

namespace larmor {

void fill_with_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = after_signals([&] { return ::getrandom(bytes.data(), bytes.size(), 0); });
    require(got > 0, Exit::environment, "the kernel gives no random numbers",
            "larmor needs getrandom(2): a sandbox around it may forbid that call");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    hex += digits[std::to_integer<std::size_t>(byte >> 4)];
    hex += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return hex;
}

std::string random_name() {
  std::array<std::byte, 8> bytes{};
  fill_with_random(bytes);
  return to_hex(bytes);
}

}  // namespace larmor

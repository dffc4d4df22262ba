// Keyed hashes: whether bytes come from somebody who knows a key.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace larmor {

using Digest = std::array<std::byte, 32>;

/// HMAC-SHA-256 (RFC 2104) of the parts, one behind the other: their borders do not count. Throws Error
/// (environment) when OpenSSL offers none.
Digest hmac_sha256(std::span<const std::byte> key, std::initializer_list<std::string_view> parts);

/// Takes as long wherever the two differ.
bool equal_in_constant_time(std::string_view one, std::string_view other);

/// Overwrites a secret; no optimizer leaves it out.
void wipe(std::span<std::byte> secret);

inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace larmor

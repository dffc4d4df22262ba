#include "larmor/base/hmac.h"

#include <string>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "larmor/base/error.h"

namespace larmor {

Digest hmac_sha256(std::span<const std::byte> key, std::initializer_list<std::string_view> parts) {
  std::string joined;
  std::string_view message;
  if (parts.size() == 1) {
    message = *parts.begin();
  } else {
    for (const auto part : parts) joined += part;
    message = joined;
  }
  Digest code{};
  unsigned length = 0;
  const auto* const done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                                reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                                reinterpret_cast<unsigned char*>(code.data()), &length);
  require(done != nullptr && length == code.size(), Exit::environment, "OpenSSL offers no HMAC-SHA-256",
          "run with the default OpenSSL configuration");
  return code;
}

bool equal_in_constant_time(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

void wipe(std::span<std::byte> secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

}  // namespace larmor

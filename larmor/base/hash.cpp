#include "larmor/base/hash.h"

#include <array>
#include <vector>

#include <openssl/evp.h>
#include <xxhash.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/random_bytes.h"

namespace larmor {

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  const bool ready =
      state_->context != nullptr && EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) == 1;
  require(ready, Exit::environment, "OpenSSL offers no SHA-256",
          "run with the default OpenSSL configuration");
}

Sha256::~Sha256() = default;

void Sha256::update(std::span<const std::byte> bytes) {
  const int done = EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  ensure(done == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  const int done = EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  ensure(done == 1);
  return to_hex(std::as_bytes(std::span(digest)));
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  return naming(path, [&] {
    const RegularFile file = open_regular(path, Exit::environment);
    Sha256 hash;
    std::vector<std::byte> buffer(size_t{1} << 20);
    uint64_t hashed = 0;
    while (const size_t count = file.read_at(hashed, buffer)) {
      hash.update(std::span(buffer).first(count));
      hashed += count;
    }
    return hash.hex();
  });
}

uint64_t fast_hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace larmor

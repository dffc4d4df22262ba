#include "larmor/base/hash.h"

#include <array>
#include <cassert>
#include <cerrno>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>
#include <xxhash.h>

#include "larmor/base/error.h"
#include "larmor/base/system_error.h"

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
  [[maybe_unused]] const int done = EVP_DigestUpdate(state_->context, bytes.data(), bytes.size());
  assert(done == 1);
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  [[maybe_unused]] const int done = EVP_DigestFinal_ex(state_->context, digest.data(), nullptr);
  assert(done == 1);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(2 * digest.size());
  for (const unsigned byte : digest) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_of_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_errno(errno, "open", path);
  Sha256 hash;
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int code = errno;
      ::close(descriptor);
      if (count < 0) fail_errno(code, "read", path);
      return hash.hex();
    }
    hash.update(std::span(buffer).first(static_cast<size_t>(count)));
  }
}

uint64_t fast_hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace larmor

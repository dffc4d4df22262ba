// Hashes: SHA-256 for what must be proven, XXH3 for what must be found again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace larmor {

/// Feeds bytes, gives 64 hexadecimal digits.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view bytes) { update(std::as_bytes(std::span(bytes))); }
  /// Ends the hash; call once.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::string_view bytes);
/// Throws Error (environment) when the file cannot be read.
std::string sha256_of_file(const std::filesystem::path& path);
uint64_t fast_hash(std::string_view bytes);

}  // namespace larmor

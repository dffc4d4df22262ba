// libFuzzer target: any bytes are refused with an Error or read as an entry of the prepared cache
// (tests/fuzz/oracles.h). What every entry begins with, its length and the hash of its header are made to fit
// first, or a fuzzer would hardly come past them; so a cut entry is another entry.
#include <cstring>

#include "larmor/base/hash.h"
#include "larmor/data/cache/cache_entry.h"
#include "larmor/data/cache/cache_layout.h"

#include "tests/fuzz/oracles.h"

namespace {

std::string fitted(std::string bytes) {
  constexpr std::size_t smallest = 104;
  if (bytes.size() < smallest) return bytes;
  const uint64_t length = bytes.size();
  const uint32_t version = larmor::cache_format;
  std::memcpy(bytes.data(), larmor::cache_magic.data(), larmor::cache_magic.size());
  std::memcpy(bytes.data() + 8, &version, sizeof(version));
  std::memcpy(bytes.data() + 24, &length, sizeof(length));
  uint64_t header = 0;
  std::memcpy(&header, bytes.data() + 16, sizeof(header));
  if (header < smallest || header > bytes.size()) return bytes;
  const uint64_t hash = larmor::fast_hash(std::string_view(bytes).substr(0, header - sizeof(header)));
  std::memcpy(bytes.data() + header - sizeof(header), &hash, sizeof(hash));
  return bytes;
}

larmor::fuzz::Product read(std::string_view bytes) {
  const std::string fit = fitted(std::string(bytes));
  const auto entry = larmor::CacheEntry::of(std::as_bytes(std::span(fit)));
  larmor::fuzz::Product product;
  for (const auto& name : entry.names()) product.add(entry.read(name).voxels);
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}

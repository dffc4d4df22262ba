// libFuzzer target: any bytes are refused with an Error or read as an entry of the prepared cache. What every
// entry begins with, its length and the hash of its header are made to fit first, or a fuzzer would hardly
// come past them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/data/cache_entry.h"
#include "larmor/data/cache_layout.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t smallest = 104;
  if (size >= smallest) {
    const uint64_t length = size;
    const uint32_t version = larmor::cache_format;
    std::memcpy(bytes.data(), larmor::cache_magic.data(), larmor::cache_magic.size());
    std::memcpy(bytes.data() + 8, &version, sizeof(version));
    std::memcpy(bytes.data() + 24, &length, sizeof(length));
    uint64_t header = 0;
    std::memcpy(&header, bytes.data() + 16, sizeof(header));
    if (header >= smallest && header <= size) {
      const uint64_t hash = larmor::fast_hash(std::string_view(bytes).substr(0, header - sizeof(header)));
      std::memcpy(bytes.data() + header - sizeof(header), &hash, sizeof(hash));
    }
  }
  try {
    const auto entry = larmor::CacheEntry::of(std::as_bytes(std::span(bytes)));
    for (const auto& name : entry.names()) entry.read(name);
  } catch (const larmor::Error&) {
  }
  return 0;
}

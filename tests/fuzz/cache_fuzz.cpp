// libFuzzer target: any bytes are refused with an Error or read as an entry of the prepared cache. The hash
// of the header is made to fit first, or a fuzzer would never come past it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/data/cache_entry.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  constexpr std::size_t smallest = 104;
  if (size >= smallest) {
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

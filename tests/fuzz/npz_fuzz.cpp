// libFuzzer target: any bytes are refused with an Error or read as a .npy array or a zip archive of such;
// nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/formats/numpy_file.h"
#include "larmor/formats/zip_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  larmor::Bytes bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  try {
    if (size < 2 || data[0] != 'P') {
      larmor::to_tensor(larmor::parse_npy(std::move(bytes)));
      return 0;
    }
    const larmor::ZipArchive archive(std::move(bytes));
    for (const auto& entry : archive.entries()) {
      if (entry.size <= std::size_t{16} << 20) larmor::parse_npy(archive.extract(entry));
    }
  } catch (const larmor::Error&) {
  }
  return 0;
}

// libFuzzer target: any bytes are refused with an Error or read as a .npy array or a zip archive of such
// (tests/fuzz/oracles.h).
#include "larmor/formats/numpy/numpy_file.h"
#include "larmor/formats/numpy/zip_archive.h"

#include "tests/fuzz/oracles.h"

namespace {

larmor::fuzz::Product read(std::string_view bytes) {
  larmor::fuzz::Product product;
  if (!bytes.starts_with('P'))
    return product.add(larmor::to_tensor(larmor::parse_npy(larmor::fuzz::copied(bytes))));
  const larmor::ZipArchive archive(larmor::fuzz::copied(bytes));
  for (const auto& entry : archive.entries()) {
    if (entry.size <= std::size_t{16} << 20) product.add(larmor::parse_npy(archive.extract(entry)));
  }
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read);
}

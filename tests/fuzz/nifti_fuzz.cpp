// libFuzzer target: any bytes are refused with an Error or read as a NIfTI header, packed or plain, as a
// .npy array or as a zip archive; nothing else may happen.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "larmor/base/error.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/nifti.h"
#include "larmor/formats/numpy_file.h"
#include "larmor/formats/zip_archive.h"

namespace {

larmor::Bytes copied(std::span<const std::byte> bytes) {
  larmor::Bytes copy(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

void read_as_everything(std::span<const std::byte> bytes) {
  try {
    larmor::parse_nifti_header(bytes, "fuzz");
  } catch (const larmor::Error&) {
  }
  try {
    larmor::to_tensor(larmor::parse_npy(copied(bytes)));
  } catch (const larmor::Error&) {
  }
  try {
    const larmor::ZipArchive archive(copied(bytes));
    for (const auto& entry : archive.entries()) archive.extract(entry);
  } catch (const larmor::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_as_everything(bytes);
  try {
    larmor::InflateLimits limits;
    limits.ratio_free = std::size_t{16} << 20;  // memory that a fuzzer can spare
    limits.ratio = 1;
    if (larmor::is_gzip(bytes)) read_as_everything(larmor::gunzip(bytes, limits).bytes.view());
  } catch (const larmor::Error&) {
  }
  return 0;
}

#include "tests/gpu_emulation/support/written_volume.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <libdeflate.h>

#include "larmor/base/files/file.h"

namespace larmor::testing {

std::vector<float> voxels_in(const std::filesystem::path& file) {
  constexpr size_t voxel_offset = 352;
  const std::string packed = read_text(file);
  uint32_t size = 0;  // the last four bytes of a member
  if (packed.size() >= sizeof(size))
    std::memcpy(&size, packed.data() + packed.size() - sizeof(size), sizeof(size));
  std::string bytes(size, '\0');
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> decompressor(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  const auto status = libdeflate_gzip_decompress(decompressor.get(), packed.data(), packed.size(),
                                                 bytes.data(), bytes.size(), nullptr);
  EXPECT_EQ(status, LIBDEFLATE_SUCCESS) << file;
  if (status != LIBDEFLATE_SUCCESS || bytes.size() < voxel_offset) return {};
  std::vector<float> voxels((bytes.size() - voxel_offset) / sizeof(float));
  std::memcpy(voxels.data(), bytes.data() + voxel_offset, voxels.size() * sizeof(float));
  return voxels;
}

}  // namespace larmor::testing

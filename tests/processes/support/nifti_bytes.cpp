#include "tests/processes/support/nifti_bytes.h"

#include <cstring>
#include <fstream>

#include <gtest/gtest.h>
#include <libdeflate.h>

#include "larmor/base/text.h"

namespace larmor::testing {

namespace {

template <class Value>
void put(std::string& bytes, size_t offset, Value value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
}

}  // namespace

std::string nifti_bytes(const NiftiFile& file) {
  constexpr int header_bytes = 348, voxel_offset = 352;
  constexpr int16_t float32 = 16;
  std::string bytes(voxel_offset, '\0');
  put<int32_t>(bytes, 0, header_bytes);
  put<int16_t>(bytes, 40, 3);
  put<float>(bytes, 76, 1);
  for (size_t axis = 0; axis < 3; ++axis) {
    put(bytes, 42 + 2 * axis, static_cast<int16_t>(file.size.at(axis)));
    put(bytes, 80 + 4 * axis, file.spacing);
    put<float>(bytes, 280 + 16 * axis + 4 * axis, file.spacing);  // the diagonal of srow_x, srow_y, srow_z
  }
  for (size_t axis = 3; axis < 7; ++axis) put<int16_t>(bytes, 42 + 2 * axis, 1);
  put(bytes, 70, float32);
  put<int16_t>(bytes, 72, 32);
  put<float>(bytes, 108, voxel_offset);
  put<int16_t>(bytes, 254, 1);  // sform_code
  std::memcpy(bytes.data() + 344, "n+1", 4);
  put<int32_t>(bytes, 148, file.number);
  for (uint64_t i = 0; i < file.voxels; ++i) {
    const auto value = static_cast<float>(i % 97);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

std::string gzipped(const std::string& bytes) {
  auto* compressor = libdeflate_alloc_compressor(6);
  std::string packed(libdeflate_gzip_compress_bound(compressor, bytes.size()), '\0');
  packed.resize(
      libdeflate_gzip_compress(compressor, bytes.data(), bytes.size(), packed.data(), packed.size()));
  libdeflate_free_compressor(compressor);
  return packed;
}

std::string unpacked(const std::string& member) {
  uint32_t length = 0;  // the last four bytes say it
  std::memcpy(&length, member.data() + member.size() - sizeof(length), sizeof(length));
  std::string bytes(length, '\0');
  auto* decompressor = libdeflate_alloc_decompressor();
  const auto result = libdeflate_gzip_decompress(decompressor, member.data(), member.size(), bytes.data(),
                                                 bytes.size(), nullptr);
  libdeflate_free_decompressor(decompressor);
  EXPECT_EQ(result, LIBDEFLATE_SUCCESS);
  return bytes;
}

void put_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

void put_heads(const std::filesystem::path& folder, int patients, int first) {
  for (int patient = 0; patient < patients; ++patient) {
    put_file(folder / text("p", patient) / "t1.nii.gz", gzipped(nifti_bytes({.number = first + patient})));
  }
}

}  // namespace larmor::testing

// Image files for tests: real ones, and small ones put together byte by byte, to be spoilt.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/formats/bytes.h"

#include "tests/support/shared_data.h"

namespace larmor::testing {

/// A file of tests/golden.
std::filesystem::path golden_file(const std::string& name);

void write_file(const std::filesystem::path& path, std::string_view bytes);
std::string read_whole(const std::filesystem::path& path);
inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string packed(std::string_view bytes);
Bytes owned(std::string_view bytes);

/// A number as it lies in a file.
template <class Value>
std::string published(Value value, bool big_endian = false) {
  std::string bytes(sizeof(Value), '\0');
  std::memcpy(bytes.data(), &value, sizeof(Value));
  if (big_endian != (std::endian::native == std::endian::big)) return {bytes.rbegin(), bytes.rend()};
  return bytes;
}

/// A NIfTI file: at first a good one, 2 x 3 x 4 int16 voxels 0 to 23 of 1.5 x 2 x 3 mm, without forms.
/// Offsets are those of nifti1.h and nifti2.h, said anew here so that reader and writer are held against
/// them.
class NiftiBytes {
 public:
  explicit NiftiBytes(int version = 1, bool big_endian = false);

  template <class Value>
  NiftiBytes& put(std::size_t offset, Value value) {
    header.replace(offset, sizeof(Value), published(value, big_endian_));
    return *this;
  }
  template <class Value>
  NiftiBytes& voxels_of(const std::vector<Value>& values) {
    voxels.clear();
    for (const Value value : values) voxels += published(value, big_endian_);
    return *this;
  }
  std::string whole() const { return header + extension + voxels; }

  std::string header, extension = std::string(4, '\0'), voxels;

 private:
  bool big_endian_;
};

std::string zlib_packed(std::string_view bytes);

/// Headers of 2 x 3 x 4 int16 voxels whose axes run to the Posterior, the Right and the Superior, 2 x 1 x 3
/// mm apart, the first at (-10, -20, 30) in RAS. `lines` are put in.
std::string nrrd_file(bool big_endian, const std::string& encoding, const std::string& lines);
std::string metaimage_file(bool big_endian, const std::string& lines, const std::string& data_file = "LOCAL",
                           const std::string& sizes = "2 3 4");

}  // namespace larmor::testing

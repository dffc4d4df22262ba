// NIfTI-1 files made by hand, whole or broken, without the reader under test.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace larmor::testing {

struct NiftiFile {
  std::array<int64_t, 3> size{12, 12, 12};  // as the header says
  float spacing = 1;                        // mm
  uint64_t voxels = 12 * 12 * 12;           // that really follow, each four bytes
  int number = 0;                           // in its description: tells files with the same voxels apart
};

/// Header, extension flags and a ramp of float32.
std::string nifti_bytes(const NiftiFile& file = {});
/// One gzip member.
std::string gzipped(const std::string& bytes);
/// What such a member holds.
std::string unpacked(const std::string& member);
/// Makes the folders above it, too.
void put_file(const std::filesystem::path& path, const std::string& bytes);

/// `patients` folders p0, p1, … with one t1.nii.gz each, numbered from `first`.
void put_heads(const std::filesystem::path& folder, int patients, int first = 1);

}  // namespace larmor::testing

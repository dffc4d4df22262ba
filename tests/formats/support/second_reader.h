// Small readers of DICOM, NIfTI and NumPy files, written from the standards and not from the library: the
// second opinion on what the bytes of a damaged file say. They know what the files of the tests need, and
// take nothing for granted: what they do not understand is no file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace larmor::testing {

struct SecondOpinion {
  std::array<int64_t, 3> size{};    // of the first three axes, first axis fastest
  int64_t channels = 1;             // the slowest axis
  std::vector<double> voxels;       // all finite
  std::array<double, 16> affine{};  // by rows; millimetres to the Right, Anterior, Superior
};

/// Flat data sets of one frame, little endian, with types or without, behind a meta group.
std::optional<SecondOpinion> second_dicom(const std::string& file);
/// Single files of version 1, little endian.
std::optional<SecondOpinion> second_nifti(const std::string& file);
/// Arrays of up to three axes, which are those of space; no affine.
std::optional<SecondOpinion> second_npy(const std::string& file);

}  // namespace larmor::testing

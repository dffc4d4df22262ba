// NIfTI-1 and NIfTI-2: our own bounded reader. A header's sizes are claims: each is checked against the
// bytes that are there before anything is allocated.
// Source: nifti1.h and nifti2.h of the NIfTI Data Format Working Group.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "larmor/data/volume.h"

namespace larmor {

struct NiftiHeader {
  int version = 1;                    // 1 or 2; 0 for Analyze 7.5 pairs
  bool big_endian = false;
  bool pair = false;                  // .hdr + .img
  std::vector<int64_t> shape;         // dim[1..dim[0]]
  int datatype = 0;
  double slope = 1, intercept = 0;    // 1 and 0 when the file says none
  uint64_t voxel_offset = 0;
  std::array<double, 3> pixdim{};
  int qform_code = 0, sform_code = 0;
  Affine affine = identity_affine();  // sform, else qform, else spacing alone: as the standard (and nibabel) choose
  std::vector<std::string> problems;  // zero spacing, disagreeing forms, …
  std::string raw;                    // the header's bytes, for writing one like it
};

struct NiftiFile {
  NiftiHeader header;
  at::Tensor voxels;  // the file's type widened to float32 or float64 by scaling rules; axes in file order, first axis = dimension 0
};

/// Throws Error (data): truncated, lying, unsupported (RGB, complex), too large.
NiftiHeader parse_nifti_header(std::span<const std::byte> bytes, const std::string& name);
NiftiFile read_nifti(const std::filesystem::path& path);
/// "int16" for 4; "" for types that are not numbers we read.
std::string nifti_type_name(int datatype);

}  // namespace larmor

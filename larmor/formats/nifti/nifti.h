// NIfTI-1, NIfTI-2 and Analyze 7.5 pairs: our own bounded reader. A header's sizes are claims: each is
// checked against the bytes that are there before anything is allocated.
// Source: nifti1.h and nifti2.h of the NIfTI Data Format Working Group; Analyze as SPM2 reads it.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/formats/affine.h"
#include "larmor/formats/stored_array.h"

namespace larmor {

struct NiftiHeader {
  int version = 1;  // 1 or 2; 0 for Analyze 7.5 pairs
  bool big_endian = false;
  bool pair = false;           // .hdr + .img
  std::vector<int64_t> shape;  // dim[1..dim[0]]
  int datatype = 0;
  int bits_per_voxel = 0;
  double slope = 1, intercept = 0;  // 1 and 0 when the file says none
  uint64_t voxel_offset = 0;
  std::array<double, 3> pixdim{};  // mm; zero and negative ones put right, see `problems`
  int qform_code = 0, sform_code = 0;
  Affine affine =
      identity_affine();  // sform, else qform, else spacing alone: as the standard (and nibabel) choose
  std::vector<std::string> problems;  // zero spacing, disagreeing forms, …
  std::string fault;                  // why no voxels can be given; empty when they can
  std::string raw;                    // the header's bytes, for writing one like it
};

struct NiftiFile {
  NiftiHeader header;
  at::Tensor
      voxels;  // float32, scaled in float64 and rounded once; axes in file order, the first one contiguous
};

/// Throws Error (data): too short, not NIfTI, truncated, lying, unsupported (RGB, complex), too large.
NiftiHeader parse_nifti_header(std::span<const std::byte> bytes, const std::string& name);
/// The same without judging: throws only when the bytes are no header at all, else says why not in `fault`.
NiftiHeader scan_nifti_header(std::span<const std::byte> bytes);
NiftiFile read_nifti(const std::filesystem::path& path);

struct OpenedNifti {
  NiftiHeader header;
  StoredArray array;  // empty when header.fault is not
};
/// Header and voxels as stored; the other file of a pair is found by name. What is wrong with the voxels
/// stands in header.fault; throws Error (data) when there is no header. The path is the caller's to add.
OpenedNifti open_nifti(const std::filesystem::path& path);

/// Bytes in front of the voxels and of the voxels, as the header in a (single) file's beginning claims,
/// unpacked.
struct NiftiClaim {
  uint64_t offset = 0, voxels = 0;
};
/// Nothing where it is no header, one of a pair, or one with a fault.
std::optional<NiftiClaim> claim_of_nifti(std::span<const std::byte> beginning);
/// Whether bytes (unpacked, at least the first 348) begin like a header of any version and byte order.
bool looks_like_nifti(std::span<const std::byte> bytes);
/// "int16" for 4; "" for types that are not numbers we read.
std::string nifti_type_name(int datatype);
/// The same for every code of the standard: "rgb24" for 128.
std::string nifti_code_name(int datatype);

}  // namespace larmor

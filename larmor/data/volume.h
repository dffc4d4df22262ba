// A volume: voxels, and where they are in the body.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/base/storage.h"

namespace larmor {

/// Row-major 4 x 4: voxel index (i, j, k, 1) to millimetres, RAS+ world (x to the Right, y Anterior, z Superior).
using Affine = std::array<std::array<double, 4>, 4>;
Affine identity_affine();
/// Length of each column, mm per voxel along axes 0, 1, 2.
std::array<double, 3> spacing_of(const Affine& affine);

struct Volume {
  at::Tensor voxels;  // [C, X, Y, Z] float32, X the file's first axis
  Affine affine = identity_affine();
};

/// What a file says of itself, for `inspect`.
struct FileReport {
  std::vector<int64_t> shape;           // file order, trailing ones kept; 2-D as [columns, rows]
  std::array<double, 3> spacing_mm{};
  Affine affine = identity_affine();
  std::string dtype;                    // "int16", "uint8", "float32", …
  double min = 0, max = 0, mean = 0;
  std::string sha256;                   // of the voxels, scaled in float64, rounded once to float32 LE, first axis fastest
  std::vector<std::string> problems;    // warnings; when `readable` is false, the reason comes first
  bool readable = true;
};

/// Reads by content: NIfTI-1/2 (.nii, .nii.gz, .hdr + .img), .npy, .npz. Throws Error (data) with the path and the reason.
Volume read_volume(const std::filesystem::path& path);
/// Never throws for a bad file: says so in `problems`.
FileReport inspect_file(const std::filesystem::path& path);

/// Writes .nii or .nii.gz (by name): float32, sform and qform from the affine; a channel axis becomes the
/// fourth axis. With `like`, keeps that file's header (units, description, codes) where it still holds.
void write_nifti(Storage& storage, const std::filesystem::path& path, const Volume& volume,
                 const std::filesystem::path& like = {});

}  // namespace larmor

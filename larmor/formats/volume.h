// A volume: voxels, and where they are in the body.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/formats/affine.h"

namespace larmor {

struct Volume {
  at::Tensor voxels;  // [C, X, Y, Z] float32, X the file's first axis; strides as the file has them
  Affine affine = identity_affine();
};

/// What a file says of itself, for `inspect`.
struct FileReport {
  std::vector<int64_t> shape;          // file order, trailing ones kept; 2-D as [columns, rows]
  std::array<double, 3> spacing_mm{};  // NIfTI: pixdim, 1 where it says 0; arrays, PNG, JPEG: 1
  Affine affine = identity_affine();
  std::string dtype;                  // "int16", "uint8", "float32", … as stored, before scaling
  double min = 0, max = 0, mean = 0;  // of the scaled voxels that are finite; NaN when there are none
  std::string
      sha256;  // of the voxels, scaled in float64, rounded once to float32 LE, first axis of `shape` fastest
  std::vector<std::string> problems;  // warnings; when `readable` is false, the reason comes first
  bool readable = true;
  std::string remedy;  // what to do about the reason, where that is known
};

/// Reads by content: NIfTI-1/2 and Analyze (also pairs), NRRD, MetaImage, .npy, .npz, PNG, JPEG, DICOM (a
/// file, a folder with the slices of one series, or `folder#SeriesInstanceUID`). Throws Error (data) with the
/// path and the reason; voxels that are NaN or infinite are one. The channel axis comes first: a NIfTI file's
/// fourth axis (axes of 1 behind the third are dropped), an array's first of four, a picture's colours.
/// Missing spatial axes are added at the end: a picture [X, Y], X its columns, becomes [1, X, Y, 1].
Volume read_volume(const std::filesystem::path& path);
/// How many are NaN or infinite.
int64_t count_not_finite(std::span<const float> values);
/// Whether read_volume would find all it needs: header, types, sizes, every byte (compressed data is
/// unpacked, voxels are not converted). Throws Error (data) as it does.
void check_volume(const std::filesystem::path& path);
/// Never throws for a bad file: says so in `problems`.
FileReport inspect_file(const std::filesystem::path& path);
Json to_json(const FileReport& report, const std::string& path);

/// What becomes of the free text of a header that another file is written like: description, name of the
/// intent and auxiliary file. Scanners and converters put names and dates of patients there.
enum class HeaderText { left_out, kept };

/// Writes .nii or .nii.gz (by name), as open_output() has it: float32, or for voxels of a whole type the
/// smallest of uint8, uint16 and int32 that holds them; sform and qform from the affine; a
/// channel axis becomes the fourth axis. With `like`, keeps that file's header (units, codes; where the
/// affine is the same, its forms and spacing as they are) where it still holds, its free text where asked.
void write_nifti(Storage& storage, const std::filesystem::path& path, const Volume& volume,
                 const std::filesystem::path& like = {}, HeaderText header_text = HeaderText::left_out);

}  // namespace larmor

// Whether a file is as long as its header says, without reading it.
#pragma once

#include <filesystem>

namespace larmor {

/// Reads at most 64 KiB at either end (of DICOM the headers, of a series those of all slices). True: header
/// and length agree (for .nii.gz the length that the gzip trailer claims; for .npz the archive's directory is
/// in place; PNG and JPEG end as they should; slices make a volume). False says nothing: it may be damaged or
/// of a kind that has to be read whole. Never throws for a bad file.
bool looks_sound(const std::filesystem::path& path);

}  // namespace larmor

// Files with a header in text, and the voxels behind it or in a file beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "larmor/formats/pictures/picture_reading.h"

namespace larmor {

struct StoredVolume;

/// As open_volume().
StoredVolume open_nrrd_volume(const std::filesystem::path& path, const PictureReading&);
StoredVolume open_metaimage_volume(const std::filesystem::path& path, const PictureReading&);

/// Whether the sizes that the header in the file's beginning claims are those of what is there; voxels are
/// not unpacked. Throws Error (data).
bool text_header_looks_sound(const std::filesystem::path& path, std::span<const std::byte> beginning);

/// The file beside a header, by what the header says; nothing where the file is no such header, and where its
/// voxels lie behind it. Never throws for a bad file.
std::optional<std::filesystem::path> voxels_beside(const std::filesystem::path& path);

}  // namespace larmor

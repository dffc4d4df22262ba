#include "larmor/formats/stored_volume.h"

#include "larmor/formats/file_kinds.h"

namespace larmor {

StoredVolume open_volume(const std::filesystem::path& path, const PictureReading& reading) {
  return kind_of_file(path).open(path, reading);
}

bool holds_nifti(const std::filesystem::path& path) { return kind_of_file(path).name == "nifti"; }

}  // namespace larmor

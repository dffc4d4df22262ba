#include "larmor/formats/stored_volume.h"

#include "larmor/base/error.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/formats/mistaken_file.h"

namespace larmor {

StoredVolume open_volume(const std::filesystem::path& path, const PictureReading& reading) {
  const FileKind& kind = kind_of_file(path);
  // What nothing else knows is opened as NIfTI, and any zip archive as arrays: so it may be neither.
  if (kind.name == "nifti" || kind.name == "npz") {
    if (const auto mistaken = mistaken_file(path)) fail(Exit::data, mistaken->what, mistaken->remedy);
  }
  return kind.open(path, reading);
}

bool holds_nifti(const std::filesystem::path& path) { return kind_of_file(path).name == "nifti"; }

}  // namespace larmor

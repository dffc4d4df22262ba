// Which files a volume is made of, where it is more than the one that names it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace larmor {

/// Whether a file of that name may have its voxels in another file.
bool may_be_header(const std::string& name);

/// The files of the volume that are there: both halves of a pair (.hdr, .img) by their names, a header in
/// text (NRRD, MetaImage) and the file that it names; for any other the file itself, there or not.
std::vector<std::filesystem::path> files_of_volume(const std::filesystem::path& file);

}  // namespace larmor

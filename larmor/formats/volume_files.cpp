#include "larmor/formats/volume_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <system_error>

#include "larmor/base/text.h"
#include "larmor/formats/text_header/text_header_volume.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

bool ends_in_one_of(const std::string& name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

constexpr std::array<std::string_view, 4> text_headers = {".nhdr", ".mhd", ".nrrd", ".mha"};
constexpr std::array<std::string_view, 2> pair_headers = {".hdr", ".hdr.gz"},
                                          pair_voxels = {".img", ".img.gz"};

}  // namespace

bool may_be_header(const std::string& name) {
  const std::string plain = lower(name);
  return ends_in_one_of(plain, text_headers) || ends_in_one_of(plain, pair_headers);
}

std::vector<fs::path> files_of_volume(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  std::error_code error;
  if (ends_in_one_of(name, text_headers)) {
    std::vector<fs::path> files{file};
    if (const auto voxels = voxels_beside(file); voxels && fs::exists(*voxels, error))
      files.push_back(*voxels);
    return files;
  }
  if (!ends_in_one_of(name, pair_headers) && !ends_in_one_of(name, pair_voxels)) return {file};
  const std::size_t ending = (name.ends_with(".gz") ? std::string_view(".hdr.gz") : ".hdr").size();
  const std::string stem = file.string().substr(0, file.string().size() - ending);
  std::vector<fs::path> files;
  for (const char* const one : {".hdr", ".hdr.gz", ".img", ".img.gz", ".HDR", ".IMG"}) {
    if (fs::exists(stem + one, error)) files.emplace_back(stem + one);
  }
  return files.empty() ? std::vector{file} : files;
}

}  // namespace larmor

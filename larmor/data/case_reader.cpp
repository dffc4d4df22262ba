#include "larmor/data/case_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <ATen/ops/cat.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/phantom.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

bool on_one_grid(const Volume& left, const Volume& right) {
  if (!left.voxels.sizes().slice(1).equals(right.voxels.sizes().slice(1))) return false;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      if (std::abs(left.affine[row][column] - right.affine[row][column]) > 1e-3) return false;
    }
  }
  return true;
}

bool holds_pairs(const std::string& file) { return lower(file).ends_with(".npz"); }

}  // namespace

CaseReader::CaseReader(const DataConfig& data, const Index& index, std::vector<std::string> only)
    : phantom_seed_(static_cast<uint64_t>(data.phantom_seed)),
      phantom_size_(data.phantom_size),
      is_phantom_(index.kind == "phantom"),
      folder_(index.folder),
      only_(std::move(only)) {}

bool CaseReader::wants(std::string_view name) const {
  return only_.empty() || std::find(only_.begin(), only_.end(), name) != only_.end();
}

std::vector<std::pair<std::string, std::string>> CaseReader::contents(const Case& entry,
                                                                      SourceHashes& hashes) const {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const auto& [name, file] : entry.files) {
    if (is_phantom_) {
      contents.emplace_back(name, file);
    } else if (name != "label" || wants("label")) {
      // Whether a file may hold a pair is told by its name.
      contents.emplace_back(text(name, holds_pairs(file) ? " npz" : ""), hashes.of(folder_ / file));
    }
  }
  for (const std::string& name : only_) contents.emplace_back("only", name);
  return contents;
}

Volumes CaseReader::read(const Case& entry, int64_t number) const {
  if (is_phantom_) return {{"image", make_phantom(phantom_seed_, number, phantom_size_)}};
  const auto label = entry.files.find("label");
  Volumes volumes;
  if (label != entry.files.end() && wants("label")) volumes["label"] = read_volume(folder_ / label->second);
  Volume image = read_image(entry);
  const bool is_pair = label == entry.files.end() && holds_pairs(entry.name()) && image.voxels.size(0) == 2;
  if (is_pair) {
    if (wants("label")) volumes["label"] = {image.voxels.narrow(0, 1, 1), image.affine};
    image.voxels = image.voxels.narrow(0, 0, 1);
  }
  if (wants("image")) volumes["image"] = std::move(image);
  return volumes;
}

Volume CaseReader::read_image(const Case& entry) const {
  std::vector<at::Tensor> channels;
  Volume image;
  std::string first;
  for (const auto& [name, file] : entry.files) {
    if (name == "label") continue;
    Volume volume = read_volume(folder_ / file);
    if (channels.empty()) {
      image = volume;
      first = file;
    } else if (!on_one_grid(image, volume)) {
      fail(Exit::data, text(file, ": its grid (shape or affine) is not that of ", first),
           "register and resample the modalities of a case to one grid before training");
    }
    channels.push_back(std::move(volume.voxels));
  }
  if (channels.size() > 1) image.voxels = at::cat(channels);
  return image;
}

}  // namespace larmor

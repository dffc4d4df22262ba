#include "larmor/data/case_reader.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <ATen/ops/cat.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/synthetic/phantom.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/resample_like.h"

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

std::string sizes_of(const Volume& volume) {
  const auto sizes = volume.voxels.sizes();
  return text(sizes[1], " x ", sizes[2], " x ", sizes[3]);
}

void check_classes(const Volume& mask, const std::string& file) {
  constexpr float most = 65535;
  const at::Tensor voxels = mask.voxels.contiguous();
  const float* const values = voxels.const_data_ptr<float>();
  const auto is_class = [](float value) { return value >= 0 && value <= most && value == std::floor(value); };
  const float* const wrong = std::find_if_not(values, values + voxels.numel(), is_class);
  if (wrong == values + voxels.numel()) return;
  fail(Exit::data,
       text(file, ": a mask holds classes, whole numbers from 0 to 65535, but there is a voxel of ", *wrong),
       "name the file image_… or label if it is none");
}

MakeImage phantom_maker(const DataConfig& data) {
  return [seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size](
             const Case&, int64_t number) { return make_phantom(seed, number, size); };
}

bool holds_pairs(const std::string& file) { return lower(file).ends_with(".npz"); }

}  // namespace

CaseReader::CaseReader(const DataConfig& data, const Index& index, std::vector<std::string> only,
                       const PictureReading& reading, MakeImage make)
    : make_(!index.is_invented() ? MakeImage()
            : make               ? std::move(make)
                                 : phantom_maker(data)),
      folder_(index.folder),
      resamples_(data.grids == "resample"),
      reading_(reading),
      only_(std::move(only)) {}

bool CaseReader::wants(std::string_view name) const {
  return only_.empty() || std::find(only_.begin(), only_.end(), name) != only_.end();
}

std::vector<std::pair<std::string, std::string>> CaseReader::contents(const Case& entry,
                                                                      SourceHashes& hashes) const {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const auto& [name, file] : entry.files) {
    if (is_invented()) {
      contents.emplace_back(name, file);
    } else if (is_image(name) || wants(name)) {
      // Whether a file may hold a pair is told by its name.
      contents.emplace_back(text(name, holds_pairs(file) ? " npz" : ""), hashes.of(folder_ / file));
    }
  }
  for (const std::string& name : only_) contents.emplace_back("only", name);
  if (resamples_ && contents.size() > 1) contents.emplace_back("grids", "resample");
  return contents;
}

Volumes CaseReader::read(const Case& entry, int64_t number) const {
  if (is_invented()) return {{"image", make_(entry, number)}};
  Volume image = read_image(entry);
  Volumes volumes;
  for (const auto& [name, file] : entry.files) {
    if (is_image(name) || !wants(name)) continue;
    Volume volume = read_volume(folder_ / file);
    if (is_mask(name)) check_classes(volume, file);
    volumes[name] = on_grid_of(image, entry.name(), std::move(volume), file,
                               is_mask(name) ? Interpolation::nearest : Interpolation::trilinear);
  }
  const bool is_pair = entry.files.size() == 1 && holds_pairs(entry.name()) && image.voxels.size(0) == 2;
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
  PictureReading reading = reading_;
  if (entry.files.size() > 1) reading.size = {};  // the files have to be on one grid
  for (const auto& [name, file] : entry.files) {
    if (!is_image(name)) continue;
    Volume volume = read_volume(folder_ / file, reading);
    if (channels.empty()) {
      image = volume;
    } else {
      volume = on_grid_of(image, entry.name(), std::move(volume), file, Interpolation::trilinear);
    }
    channels.push_back(std::move(volume.voxels));
  }
  if (channels.size() > 1) image.voxels = at::cat(channels);
  return image;
}

Volume CaseReader::on_grid_of(const Volume& image, const std::string& image_file, Volume volume,
                              const std::string& file, Interpolation interpolation) const {
  if (on_one_grid(image, volume)) return volume;
  // The same voxels in another order of axes are no other grid.
  Volume turned = orient(volume, axcodes_of(image.affine));
  if (on_one_grid(image, turned)) return turned;
  if (!resamples_) {
    fail(Exit::data,
         text(file, ": its grid (", sizes_of(volume), " voxels, or their place) is not that of ", image_file,
              " (", sizes_of(image), ")"),
         "register them to one grid, or say data.grids=resample");
  }
  const auto sizes = image.voxels.sizes();
  return resample_like(volume, image.affine, {sizes[1], sizes[2], sizes[3]}, interpolation);
}

}  // namespace larmor

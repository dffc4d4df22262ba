#include "larmor/task/input_channels.h"

#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/transforms/common_grid.h"

namespace larmor {

namespace {
constexpr const char* image_name = "image";
}  // namespace

InputChannels::InputChannels(std::vector<std::string> names, bool resamples)
    : names_(std::move(names)), resamples_(resamples) {}

Volumes InputChannels::joined(const Volumes& given) const {
  Volumes volumes = given;
  Volume image;
  std::string name_of_first;
  std::vector<at::Tensor> channels;  // undefined where one is not given
  for (const std::string& name : names_) {
    at::Tensor& channel = channels.emplace_back();
    auto own = volumes.extract(name);
    if (own.empty()) continue;
    if (name_of_first.empty()) {
      name_of_first = name;
      image = std::move(own.mapped());
      channel = image.voxels;
    } else {
      channel =
          on_grid_of(image, name_of_first, std::move(own.mapped()), name, {.resamples = resamples_}).voxels;
    }
  }
  if (name_of_first.empty()) return volumes;
  for (at::Tensor& channel : channels) {
    if (!channel.defined()) channel = at::zeros_like(image.voxels.narrow(0, 0, 1));
  }
  if (channels.size() > 1) image.voxels = at::cat(channels);
  volumes.emplace(image_name, std::move(image));
  return volumes;
}

Volumes InputChannels::apart(Volumes prepared, const Volumes& given) const {
  if (names_.empty()) return prepared;
  const auto image = prepared.extract(image_name);
  if (image.empty()) return prepared;
  int64_t first = 0;
  for (const std::string& name : names_) {
    const auto own = given.find(name);
    const int64_t count = own == given.end() ? 1 : own->second.voxels.size(0);
    if (own != given.end()) {
      prepared.emplace(name, Volume{image.mapped().voxels.narrow(0, first, count), image.mapped().affine});
    }
    first += count;
  }
  return prepared;
}

}  // namespace larmor

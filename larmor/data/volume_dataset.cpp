#include "larmor/data/volume_dataset.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/ops/cat.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/phantom.h"
#include "larmor/data/transforms.h"
#include "larmor/data/volume.h"

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

class VolumeDataset final : public Dataset {
 public:
  VolumeDataset(const DataConfig& data, const Index& index, Split split, const Json& transforms, bool keep,
                std::vector<std::string> only)
      : phantom_seed_(static_cast<uint64_t>(data.phantom_seed)),
        phantom_size_(data.phantom_size),
        is_phantom_(index.kind == "phantom"),
        folder_(index.folder),
        chain_(transforms),
        only_(std::move(only)),
        numbers_(index.of(split)) {
    for (const int64_t number : numbers_) cases_.push_back(index.cases[static_cast<std::size_t>(number)]);
    if (keep) kept_ = std::vector<Kept>(cases_.size());
  }

  int64_t size() const override { return static_cast<int64_t>(cases_.size()); }

  std::string name(int64_t example) const override { return case_of(example).name(); }

  Sample get(const ExampleKey& key) const override {
    const Volumes volumes = kept_.empty() ? prepare(key.example) : kept(key.example);
    Volumes changed = chain_.random_part(volumes, key);
    Sample sample;
    for (const auto& [name, volume] : volumes) {
      at::Tensor voxels = std::move(changed.at(name).voxels);
      // Whoever writes into a sample must not reach what is kept.
      if (!kept_.empty() && voxels.is_alias_of(volume.voxels)) voxels = voxels.clone();
      sample.emplace(name, std::move(voxels));
    }
    return sample;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::optional<Volumes> volumes;
  };

  const Case& case_of(int64_t example) const {
    assert(example >= 0 && example < size());
    return cases_[static_cast<std::size_t>(example)];
  }

  bool wants(std::string_view name) const {
    return only_.empty() || std::find(only_.begin(), only_.end(), name) != only_.end();
  }

  const Volumes& kept(int64_t example) const {
    Kept& place = kept_[static_cast<std::size_t>(example)];
    // Held while the file is read: a second thread that wants the same example waits instead of reading
    // twice.
    const std::lock_guard lock(place.mutex);
    if (!place.volumes) place.volumes = prepare(example);
    return *place.volumes;
  }

  Volumes prepare(int64_t example) const {
    Volumes volumes = read(example);
    try {
      return chain_.deterministic_part(std::move(volumes));
    } catch (const Error& error) {
      throw error.within(name(example));
    }
  }

  Volumes read(int64_t example) const {
    if (is_phantom_) {
      const int64_t number = numbers_[static_cast<std::size_t>(example)];
      return {{"image", make_phantom(phantom_seed_, number, phantom_size_)}};
    }
    const Case& entry = case_of(example);
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

  Volume read_image(const Case& entry) const {
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

  const uint64_t phantom_seed_;
  const std::vector<int64_t> phantom_size_;
  const bool is_phantom_;
  const std::filesystem::path folder_;
  const TransformChain chain_;
  const std::vector<std::string> only_;
  const std::vector<int64_t> numbers_;  // in the whole index
  std::vector<Case> cases_;
  mutable std::vector<Kept> kept_;  // empty unless results are kept
};

}  // namespace

std::unique_ptr<Dataset> make_volume_dataset(const DataConfig& data, const Index& index, Split split,
                                             const Json& transforms, bool keep,
                                             const std::vector<std::string>& only) {
  return std::make_unique<VolumeDataset>(data, index, split, transforms, keep, only);
}

}  // namespace larmor

#include "workloads/xray_to_ct/data/pair_dataset.h"

#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/seed.h"
#include "larmor/data/volume_source.h"
#include "larmor/kernels/projector/attenuation.h"

#include "workloads/xray_to_ct/data/pair_source.h"
#include "workloads/xray_to_ct/data/radiograph_faults.h"

namespace larmor::xray_to_ct {
namespace {

/// Raised when the same files and the same config come to give other pairs.
constexpr int pair_version = 1;

/// Of a dataset whose cases must not be mirrored or darkened twice, `augments` is false for all but training.
class PairDataset final : public PreparableDataset {
 public:
  PairDataset(std::unique_ptr<PreparableDataset> made, PairConfig pairs, int64_t size, bool augments)
      : made_(std::move(made)), pairs_(std::move(pairs)), size_(size), augments_(augments) {}

  int64_t cases() const override { return made_->cases(); }
  int64_t size() const override { return made_->size(); }
  std::string name(int64_t example) const override { return made_->name(example); }
  std::string patient(int64_t example) const override { return made_->patient(example); }
  std::string case_name(int64_t number) const override { return made_->case_name(number); }
  Caption caption(int64_t example) const override { return made_->caption(example); }
  /// The cube of the body, in which each CT lies.
  std::optional<Affine> grid(int64_t /*example*/) const override { return pairs_.positions(size_); }
  std::string content_hash(int64_t example) const override { return made_->content_hash(example); }
  uint64_t prepare(int64_t number) const override { return made_->prepare(number); }
  bool is_prepared(int64_t number) const override { return made_->is_prepared(number); }
  CachePlace cache_place() const override { return made_->cache_place(); }
  const PreparableDataset* preparable() const override {
    return made_->preparable() == nullptr ? nullptr : this;
  }

  Sample get(const ExampleKey& key) const override {
    const Sample made = made_->get(key);
    PlacedViews placed = views_from(made.at("geometry"));
    at::Tensor volume = unit_of_hu(made.at("volume"), pairs_);
    at::Tensor radiographs = made.at("radiographs").squeeze(-1).unsqueeze(1);  // [views, 1, rows, columns]
    bool is_mirrored = false;
    if (augments_) {
      Draws draws(make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example),
                           "augmentation of a pair"));
      is_mirrored = draws.uniform() < pairs_.mirror;
      radiographs = darkened(radiographs, placed, 1 - pairs_.brightness * draws.uniform());
    }
    at::Tensor rays = rays_of(placed.views, volume.size(1), is_mirrored);
    if (is_mirrored) {
      volume = volume.flip({3});
      radiographs = at::cat({radiographs.slice(0, 0, 1).flip({3}), radiographs.slice(0, 1)});
    }
    if (augments_ && pairs_.faults > 0) radiographs = with_faults_of(radiographs, key);
    std::vector<float> intensity;
    for (const auto& [scale, offset] : placed.intensities) {
      intensity.push_back(static_cast<float>(scale));
      intensity.push_back(static_cast<float>(offset));
    }
    Sample sample;
    sample[pair::volume] = volume.contiguous();
    sample[pair::radiographs] = radiographs.contiguous();
    sample[pair::rays] = rays;
    sample[pair::intensity] = at::tensor(intensity).view({-1, 2});
    sample[pair::mirrored] = at::full({}, is_mirrored, at::kBool);
    return sample;
  }

 private:
  /// A black film stays black: (radiograph + 1) is what is multiplied.
  static at::Tensor darkened(const at::Tensor& radiographs, PlacedViews& placed, double factor) {
    for (Intensity& intensity : placed.intensities)
      intensity = {.scale = intensity.scale * factor, .offset = (intensity.offset + 1) * factor - 1};
    return (radiographs + 1) * factor - 1;
  }

  /// Each view has faults of its own. What the projection is held against has them, too.
  at::Tensor with_faults_of(const at::Tensor& radiographs, const ExampleKey& key) const {
    const auto key_of = [&](const char* purpose) {
      return make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example),
                      purpose);
    };
    Draws draws(key_of("faults of radiographs"));
    std::vector<at::Tensor> faulty;
    for (int64_t view = 0; view < radiographs.size(0); ++view) {
      const Key noise =
          key_of(view == 0 ? "grain of the frontal radiograph" : "grain of the lateral radiograph");
      faulty.push_back(with_faults(radiographs[view][0], pairs_.faults, draws, noise).unsqueeze(0));
    }
    return at::stack(faulty);
  }

  /// The frontal view of a mirrored patient is the mirrored frontal view: its rays are those of the volume as
  /// it was. The lateral view stays, and so the mirrored volume is seen from the other side.
  at::Tensor rays_of(const std::vector<RadiographView>& views, int64_t size, bool is_mirrored) const {
    const VoxelPositions positions = pairs_.positions(size);
    const at::Tensor rays = ray_geometry(views, positions);
    if (!is_mirrored || views.size() == 1) return rays;
    VoxelPositions mirrored = positions;
    mirrored[0][2] = -positions[0][2];
    mirrored[0][3] = -positions[0][3];
    return at::cat({rays.slice(0, 0, 1), ray_geometry(views, mirrored).slice(0, 1)});
  }

  const std::unique_ptr<PreparableDataset> made_;
  const PairConfig pairs_;
  const int64_t size_;  // voxels along an edge
  const bool augments_;
};

/// What a pair depends on beside what is in its files.
Json key_of_pairs(const PairConfig& pairs, int64_t views, int64_t size) {
  Json key;
  key["pair"] = pair_version;
  key["from_ct"] = !pairs.ct.empty();
  key["views"] = views;
  key["size"] = size;
  key["extent"] = pairs.extent;
  key["radiograph_size"] = pairs.radiograph_size;
  key["beam"] = pairs.beam;
  key["distances"] = {pairs.source_to_isocentre, pairs.source_to_detector};
  key["hu_range"] = pairs.hu_range;
  key["checks"] = {pairs.align_at_least, pairs.least_height, pairs.most_spacing};
  key["flip_vertical"] = pairs.flip_vertical;
  return key;
}

}  // namespace

at::Tensor unit_of_hu(const at::Tensor& hu, const PairConfig& config) {
  const double low = config.hu_range[0], high = config.hu_range[1];
  return (hu.clamp(low, high) - low) * (2 / (high - low)) - 1;
}

at::Tensor hu_of_unit(const at::Tensor& volume, const PairConfig& config) {
  const double low = config.hu_range[0], high = config.hu_range[1];
  return (volume + 1) * ((high - low) / 2) + low;
}

at::Tensor attenuation_of_unit(const at::Tensor& volume, const PairConfig& config) {
  // Not attenuation_of_hu(): where a prediction is below air, the gradient has to lead it back.
  return (hu_of_unit(volume, config) + 1000) * (water_attenuation / 1000);
}

at::Tensor radiographs_of(const at::Tensor& volumes, const at::Tensor& rays, const at::Tensor& intensity,
                          int64_t rows, int64_t columns, const PairConfig& config) {
  const at::Tensor projected = project(attenuation_of_unit(volumes, config), rays, rows, columns);
  const at::Tensor scale = intensity.select(-1, 0).to(projected.scalar_type());
  const at::Tensor offset = intensity.select(-1, 1).to(projected.scalar_type());
  return (projected * scale.unsqueeze(-1).unsqueeze(-1) + offset.unsqueeze(-1).unsqueeze(-1)).unsqueeze(2);
}

std::unique_ptr<PreparableDataset> pair_dataset(const RunConfig& config, const PairConfig& pairs,
                                                const Index& index, Split split, int64_t size,
                                                int64_t views) {
  const DataConfig& data = config.data;
  const bool is_training = split == Split::train;
  auto source = pair_source(data, pairs, index, split, views, size);
  if (index.is_invented()) {
    const auto cases = static_cast<size_t>(source->cases());
    source = recent(std::move(source), cases);
  } else if (data.cache == "full" || (data.cache == "smart" && is_training)) {
    source = kept(std::move(source), data, key_of_pairs(pairs, views, size));
  }
  const auto no_chain = std::make_shared<const TransformChain>(Json::array());
  return std::make_unique<PairDataset>(transformed(std::move(source), no_chain), pairs, size,
                                       is_training && pairs.augmentation);
}

}  // namespace larmor::xray_to_ct

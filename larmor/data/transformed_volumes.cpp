// transformed(): from a source of volumes to samples.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <ATen/core/Tensor.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/data/cache/cache_entry.h"
#include "larmor/data/volume_source.h"

namespace larmor {
namespace {

/// Whoever writes into a sample must not reach what a source keeps.
void copy_what_is_shared(Volumes& volumes, const Volumes& kept) {
  for (auto& [name, volume] : volumes) {
    const auto original = kept.find(name);
    if (original != kept.end() && volume.voxels.is_alias_of(original->second.voxels))
      volume.voxels = volume.voxels.clone();
  }
}

/// A step may make a channel of zeros into something else.
void blank_what_is_missing(Sample& sample) {
  const auto present = sample.find("present"), image = sample.find("image");
  if (present == sample.end() || image == sample.end()) return;
  const bool* const is_present = present->second.const_data_ptr<bool>();
  for (int64_t channel = 0; channel < present->second.numel(); ++channel) {
    if (!is_present[channel]) image->second.select(0, channel).zero_();
  }
}

/// The grids of the last examples that were given. Thread-safe.
class LastGrids {
 public:
  void keep(int64_t example, const Affine& grid) {
    // As many as threads read ahead of who asks, and more.
    constexpr std::size_t most = 256;
    const std::lock_guard lock(mutex_);
    grids_.emplace_back(example, grid);
    if (grids_.size() > most) grids_.pop_front();
  }

  std::optional<Affine> of(int64_t example) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(grids_.rbegin(), grids_.rend(), [&](const auto& kept) { return kept.first == example; });
    return found == grids_.rend() ? std::nullopt : std::optional(found->second);
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<int64_t, Affine>> grids_;
};

class TransformedVolumes final : public PreparableDataset {
 public:
  TransformedVolumes(std::unique_ptr<VolumeSource> source, SharedChain chain, ChainPart part)
      : source_(std::move(source)), chain_(std::move(chain)), part_(part) {}

  int64_t cases() const override { return source_->cases(); }
  int64_t examples_per_case() const override { return chain_->samples_per_volume(); }
  int64_t size() const override { return cases() * examples_per_case(); }
  std::string name(int64_t example) const override { return case_name(example / examples_per_case()); }
  std::string case_name(int64_t number) const override {
    ensure(number >= 0 && number < cases());
    return source_->case_name(number);
  }
  std::string patient(int64_t example) const override {
    return source_->patient(example / examples_per_case());
  }

  std::optional<Affine> grid(int64_t example) const override { return grids_.of(example); }
  Caption caption(int64_t example) const override {
    return {.title = source_->title(example / examples_per_case())};
  }

  std::string content_hash(int64_t example) const override {
    try {
      const auto storage = make_storage();
      SourceHashes hashes(*storage, {});
      const auto contents = source_->contents(example / examples_per_case(), hashes);
      return contents.size() == 1 ? contents.front().second : sha256(Json(contents).dump());
    } catch (const Error&) {
      return {};
    }
  }

  Sample get(const ExampleKey& key) const override {
    const int64_t number = key.example / examples_per_case();
    Sample sample;
    for (auto& [name, volume] : volumes_of(number, key)) {
      if (name == "image" && source_->has_grid(number)) grids_.keep(key.example, volume.affine);
      sample.emplace(name, std::move(volume.voxels));
    }
    sample.merge(source_->values(number));
    blank_what_is_missing(sample);
    return sample;
  }

  uint64_t prepare(int64_t number) const override { return source_->prepare(number); }
  bool is_prepared(int64_t number) const override { return source_->is_prepared(number); }
  CachePlace cache_place() const override { return source_->cache_place(); }
  const PreparableDataset* preparable() const override { return source_->keeps() ? this : nullptr; }

 private:
  Volumes volumes_of(int64_t number, const ExampleKey& key) const {
    ExampleKey of_case = key;
    of_case.example = number;
    try {
      return apply(number, source_->get(of_case), key);
    } catch (const DamagedBrick& damage) {
      source_->discard(number, damage);
    }
    return apply(number, source_->get(of_case), key);
  }

  Volumes apply(int64_t number, SourceVolumes given, const ExampleKey& key) const {
    try {
      if (given.deferred) return run(std::move(*given.deferred), key);
      if (!given.are_shared) return run(std::move(given.volumes), key);
      Volumes volumes = run(Volumes(given.volumes), key);
      copy_what_is_shared(volumes, given.volumes);
      return volumes;
    } catch (const DamagedBrick&) {
      throw;
    } catch (const Error& error) {
      throw error.within(case_name(number));
    }
  }

  template <class Given>
  Volumes run(Given given, const ExampleKey& key) const {
    return part_ == ChainPart::all ? chain_->apply(std::move(given), key)
                                   : chain_->random_part(std::move(given), key);
  }

  const std::unique_ptr<VolumeSource> source_;
  const SharedChain chain_;
  const ChainPart part_;
  mutable LastGrids grids_;
};

}  // namespace

std::unique_ptr<PreparableDataset> transformed(std::unique_ptr<VolumeSource> source, SharedChain chain,
                                               ChainPart part) {
  return std::make_unique<TransformedVolumes>(std::move(source), std::move(chain), part);
}

}  // namespace larmor

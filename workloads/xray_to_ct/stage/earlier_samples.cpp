#include "workloads/xray_to_ct/stage/earlier_samples.h"

#include <map>
#include <mutex>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/prepared_cache.h"
#include "larmor/device/draw_position.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"

namespace larmor::xray_to_ct {
namespace {

constexpr const char* kept_name = "earlier";

std::string radiographs_hash(const at::Tensor& radiographs) {
  Sha256 hash;
  hash.update(std::span(static_cast<const std::byte*>(radiographs.const_data_ptr()), radiographs.nbytes()));
  return hash.hex();
}

class EarlierSamples final : public PreparableDataset {
 public:
  EarlierSamples(std::unique_ptr<PreparableDataset> examples, std::unique_ptr<PreparableDataset> plain,
                 EarlierSampling sampling, const DataConfig& data, bool draws_one, bool in_memory)
      : examples_(std::move(examples)),
        plain_(std::move(plain)),
        sampling_(std::move(sampling)),
        draws_one_(draws_one) {
    if (in_memory) return;
    cache_ = std::make_unique<PreparedCache>(storage_, chosen_cache_folder(data), data.budget_bytes);
  }

  int64_t size() const override { return examples_->size(); }
  std::string name(int64_t example) const override { return examples_->name(example); }
  std::string patient(int64_t example) const override { return examples_->patient(example); }
  int64_t examples_per_case() const override { return examples_->examples_per_case(); }
  std::string content_hash(int64_t example) const override { return examples_->content_hash(example); }
  int64_t cases() const override { return examples_->cases(); }
  std::string case_name(int64_t number) const override { return examples_->case_name(number); }
  std::optional<Affine> grid(int64_t example) const override { return examples_->grid(example); }
  Caption caption(int64_t example) const override { return examples_->caption(example); }

  Sample get(const ExampleKey& key) const override {
    Sample sample = examples_->get(key);
    int64_t choice = 0;
    if (draws_one_) {
      Draws draws(make_key(key.seed, static_cast<uint64_t>(key.epoch), static_cast<uint64_t>(key.example),
                           "sample of the earlier stage"));
      choice = static_cast<int64_t>(draws.below(static_cast<uint64_t>(sampling_.count)));
    }
    const at::Tensor volume = volume_of(key.example / examples_per_case(), choice);
    const auto mirrored = sample.find(pair::mirrored);
    const bool is_mirrored = mirrored != sample.end() && mirrored->second.item<bool>();
    sample[CascadeTask::earlier_name] = is_mirrored ? volume.flip({3}) : volume;
    return sample;
  }

  uint64_t prepare(int64_t number) const override {
    uint64_t bytes = examples_->prepare(number);
    if (cache_ == nullptr) return bytes;
    for (int64_t choice = 0; choice < kept_of_a_case(); ++choice) {
      const auto kept = entry_of(number, choice);
      if (kept.entry) bytes += kept.entry->bytes();
    }
    return bytes;
  }

  bool is_prepared(int64_t number) const override {
    if (!examples_->is_prepared(number)) return false;
    if (cache_ == nullptr) return true;
    const std::string radiographs = radiographs_hash(radiographs_of_case(number));
    for (int64_t choice = 0; choice < kept_of_a_case(); ++choice) {
      if (!cache_->holds(key_of(radiographs, choice))) return false;
    }
    return true;
  }

  CachePlace cache_place() const override {
    if (cache_ == nullptr) return examples_->cache_place();
    return {
        .folder = cache_->folder(), .budget_bytes = cache_->budget_bytes(), .present_bytes = cache_->bytes()};
  }

 private:
  int64_t kept_of_a_case() const { return draws_one_ ? sampling_.count : 1; }

  at::Tensor radiographs_of_case(int64_t number) const {
    const ExampleKey key{.seed = 0, .epoch = 0, .example = number * plain_->examples_per_case()};
    return plain_->get(key).at(pair::radiographs).contiguous();
  }

  std::string key_of(const std::string& radiographs, int64_t choice) const {
    return cache_key({{"radiographs", radiographs}, {"earlier stage", sampling_.hash}},
                     Json{{"sample", choice}});
  }

  at::Tensor volume_of(int64_t number, int64_t choice) const {
    if (cache_ != nullptr) {
      const auto kept = entry_of(number, choice);
      if (kept.entry) return kept.entry->read(kept_name).voxels;
      return kept.volumes.find(kept_name)->second.voxels;
    }
    {
      const std::lock_guard lock(mutex_);
      const auto found = in_memory_.find({number, choice});
      if (found != in_memory_.end()) return found->second;
    }
    const at::Tensor volume = sampled(radiographs_of_case(number), choice);
    const std::lock_guard lock(mutex_);
    return in_memory_.try_emplace({number, choice}, volume).first->second;
  }

  PreparedExample entry_of(int64_t number, int64_t choice) const {
    const at::Tensor radiographs = radiographs_of_case(number);
    return cache_->get(key_of(radiographs_hash(radiographs), choice), [&] {
      std::map<std::string, Volume, std::less<>> volumes;
      volumes[kept_name] = {.voxels = sampled(radiographs, choice)};
      return volumes;
    });
  }

  /// [1, d, h, w].
  at::Tensor sampled(const at::Tensor& radiographs, int64_t choice) const {
    const std::lock_guard lock(sampling_mutex_);
    if (!sample_) sample_ = sampling_.make();
    const at::NoGradGuard no_gradient;
    const DrawScope draws(draws_of_kept_sample(radiographs, choice));
    return sample_(radiographs.squeeze(1).unsqueeze(0))[0].contiguous();
  }

  std::unique_ptr<PreparableDataset> examples_, plain_;
  EarlierSampling sampling_;
  bool draws_one_;
  mutable DiskStorage storage_;
  std::unique_ptr<PreparedCache> cache_;  // null where volumes are kept in memory
  mutable std::mutex mutex_, sampling_mutex_;
  mutable std::map<std::pair<int64_t, int64_t>, at::Tensor> in_memory_;
  mutable EarlierSampling::Sample sample_;
};

}  // namespace

DrawPosition draws_of_kept_sample(const at::Tensor& radiographs, int64_t choice) {
  const std::string hash = radiographs_hash(radiographs.cpu().contiguous());
  return {.seed = 0, .epochs = {choice}, .examples = {static_cast<int64_t>(fast_hash(hash) >> 1)}};
}

std::unique_ptr<PreparableDataset> with_earlier_samples(std::unique_ptr<PreparableDataset> examples,
                                                        std::unique_ptr<PreparableDataset> plain,
                                                        EarlierSampling sampling, const DataConfig& data,
                                                        bool draws_one, bool in_memory) {
  return std::make_unique<EarlierSamples>(std::move(examples), std::move(plain), std::move(sampling), data,
                                          draws_one, in_memory);
}

}  // namespace larmor::xray_to_ct

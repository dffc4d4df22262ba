// Where the volumes of a dataset's cases come from, before anything random: read from files, invented,
// computed from another source's, or kept from the last time. Sources are put around each other;
// transformed() makes a dataset of the outermost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/cache/source_hashes.h"
#include "larmor/data/dataset.h"
#include "larmor/data/preparable_dataset.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

/// The volumes of one case: in memory, or, where `deferred` is set, to be read in parts.
struct SourceVolumes {
  Volumes volumes = {};
  std::optional<DeferredVolumes> deferred = {};
  bool are_shared = false;  // another call gets the same memory: who writes voxels copies them first
};

/// Thread-safe. Cases count from 0 to cases() - 1.
class VolumeSource {
 public:
  using Contents = std::vector<std::pair<std::string, std::string>>;

  virtual ~VolumeSource() = default;
  virtual int64_t cases() const = 0;
  virtual std::string case_name(int64_t number) const = 0;
  /// See Dataset.
  virtual std::string patient(int64_t number) const { return case_name(number); }
  /// Case::title().
  virtual std::string title(int64_t number) const { return case_name(number); }
  /// Whether the affines of its volumes say where they are in the body.
  virtual bool has_grid(int64_t /*number*/) const { return true; }
  /// The volumes of case `key.example`: the same bits whatever the seed and the epoch, which only say when
  /// they are wanted. Throws Error (data).
  virtual SourceVolumes get(const ExampleKey& key) const = 0;
  /// What the volumes are a function of, beside this source's own code: names, and hashes of what is in the
  /// files. Throws Error (data).
  virtual Contents contents(int64_t number, SourceHashes& hashes) const = 0;
  /// Tensors that a sample of the case holds beside its volumes.
  virtual Sample values(int64_t /*number*/) const { return {}; }
  /// Tells this source from others on the same machine: the folder of its files.
  virtual std::string origin() const { return {}; }

  /// Whether prepare() keeps anything: see PreparableDataset for this and what follows.
  virtual bool keeps() const { return false; }
  virtual uint64_t prepare(int64_t /*number*/) const { return 0; }
  virtual bool is_prepared(int64_t /*number*/) const { return false; }
  virtual CachePlace cache_place() const { return {}; }
  /// What was kept of the case was found to be damaged: the next get() makes it anew.
  virtual void discard(int64_t /*number*/, const Error& /*damage*/) const {}
};

/// A source around another, which says everything but get() by what is inside.
class SourceDecorator : public VolumeSource {
 public:
  explicit SourceDecorator(std::unique_ptr<VolumeSource> inner) : inner_(std::move(inner)) {}
  int64_t cases() const override { return inner_->cases(); }
  std::string case_name(int64_t number) const override { return inner_->case_name(number); }
  std::string patient(int64_t number) const override { return inner_->patient(number); }
  std::string title(int64_t number) const override { return inner_->title(number); }
  bool has_grid(int64_t number) const override { return inner_->has_grid(number); }
  Contents contents(int64_t number, SourceHashes& hashes) const override {
    return inner_->contents(number, hashes);
  }
  Sample values(int64_t number) const override { return inner_->values(number); }
  std::string origin() const override { return inner_->origin(); }
  bool keeps() const override { return inner_->keeps(); }
  uint64_t prepare(int64_t number) const override { return inner_->prepare(number); }
  bool is_prepared(int64_t number) const override { return inner_->is_prepared(number); }
  CachePlace cache_place() const override { return inner_->cache_place(); }
  void discard(int64_t number, const Error& damage) const override { inner_->discard(number, damage); }

 protected:
  const VolumeSource& inner() const { return *inner_; }

 private:
  std::unique_ptr<VolumeSource> inner_;
};

using SharedChain = std::shared_ptr<const TransformChain>;

/// What the chain makes of the volumes before its first random step. Requires: the source gives volumes in
/// memory.
std::unique_ptr<VolumeSource> deterministic(std::unique_ptr<VolumeSource> source, SharedChain chain);
/// The volumes of the last `most` cases stay in memory. Requires: as deterministic().
std::unique_ptr<VolumeSource> recent(std::unique_ptr<VolumeSource> source, std::size_t most);
/// Volumes are kept as data.cache says: nowhere, in the prepared cache, or in SmartCache's window over the
/// cases. An entry is found by the source's contents() and by `key`, which says all else that the volumes
/// depend on: a chain's declaration, or the hash of an encoder's weights.
std::unique_ptr<VolumeSource> kept(std::unique_ptr<VolumeSource> source, const DataConfig& data, Json key);

/// What is left of a chain to be done: everything, or what follows deterministic().
enum class ChainPart { all, random };

/// Samples hold the volumes' voxels under their names, and the source's values(). RandSpatialCropSamples
/// makes several examples of each case. Where values() has "present" [C], channels of "image" that are not
/// present are zeros after the chain, too.
std::unique_ptr<PreparableDataset> transformed(std::unique_ptr<VolumeSource> source, SharedChain chain,
                                               ChainPart part = ChainPart::all);

}  // namespace larmor

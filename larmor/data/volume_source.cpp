#include "larmor/data/volume_source.h"

#include "larmor/base/ensure.h"
#include "larmor/data/cache/recent_volumes.h"

namespace larmor {
namespace {

class DeterministicSource final : public SourceDecorator {
 public:
  DeterministicSource(std::unique_ptr<VolumeSource> source, SharedChain chain)
      : SourceDecorator(std::move(source)), chain_(std::move(chain)) {}

  SourceVolumes get(const ExampleKey& key) const override {
    SourceVolumes given = inner().get(key);
    ensure(!given.deferred);
    try {
      given.volumes = chain_->deterministic_part(std::move(given.volumes));
    } catch (const Error& error) {
      throw error.within(case_name(key.example));
    }
    return given;
  }

 private:
  const SharedChain chain_;
};

class RecentSource final : public SourceDecorator {
 public:
  RecentSource(std::unique_ptr<VolumeSource> source, std::size_t most)
      : SourceDecorator(std::move(source)), recent_(most) {}

  SourceVolumes get(const ExampleKey& key) const override {
    const auto make = [&] {
      SourceVolumes given = inner().get(key);
      ensure(!given.deferred);
      return std::move(given.volumes);
    };
    return {.volumes = *recent_.get(key.example, make), .are_shared = true};
  }

 private:
  mutable RecentVolumes recent_;
};

}  // namespace

std::unique_ptr<VolumeSource> deterministic(std::unique_ptr<VolumeSource> source, SharedChain chain) {
  return std::make_unique<DeterministicSource>(std::move(source), std::move(chain));
}

std::unique_ptr<VolumeSource> recent(std::unique_ptr<VolumeSource> source, std::size_t most) {
  return std::make_unique<RecentSource>(std::move(source), most);
}

}  // namespace larmor

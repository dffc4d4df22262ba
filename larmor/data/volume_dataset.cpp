#include "larmor/data/volume_dataset.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <ATen/ops/scalar_tensor.h>

#include "larmor/base/ensure.h"
#include "larmor/data/case_reader.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/transforms/reading_steps.h"

namespace larmor {
namespace {

// Volumes that are kept for loader threads that cut crops from them; each takes a whole volume of memory.
constexpr std::size_t recent_cases = 4;

class CaseVolumes final : public VolumeSource {
 public:
  CaseVolumes(const Index& index, Split split, CaseReader reader)
      : reader_(std::move(reader)), numbers_(index.of(split)), folder_(index.folder.string()) {
    for (const int64_t number : numbers_) cases_.push_back(index.cases[static_cast<std::size_t>(number)]);
  }

  int64_t cases() const override { return static_cast<int64_t>(cases_.size()); }
  std::string case_name(int64_t number) const override { return case_of(number).name(); }
  std::string patient(int64_t number) const override { return case_of(number).patient; }
  std::string title(int64_t number) const override { return case_of(number).title(); }
  std::string origin() const override { return folder_; }
  // Arrays and pictures have no room for it.
  bool has_grid(int64_t number) const override {
    const std::string suffix = known_suffix(case_of(number).name());
    const auto is_of = [&](const char* kind) {
      const auto& suffixes = file_kind(kind).suffixes;
      return std::ranges::find(suffixes, suffix) != suffixes.end();
    };
    return suffix.empty() || !(is_of("npz") || is_of("picture"));
  }

  SourceVolumes get(const ExampleKey& key) const override {
    const Case& entry = case_of(key.example);
    return {.volumes = reader_.read(entry, numbers_[static_cast<std::size_t>(key.example)])};
  }

  Contents contents(int64_t number, SourceHashes& hashes) const override {
    return reader_.contents(case_of(number), hashes);
  }

  Sample values(int64_t number) const override {
    const Case& entry = case_of(number);
    Sample sample;
    for (const auto& [name, value] : entry.values)
      sample.emplace(name, at::scalar_tensor(value, at::kDouble));
    if (at::Tensor present = reader_.present(entry); present.defined()) sample.emplace("present", present);
    return sample;
  }

 private:
  const Case& case_of(int64_t number) const {
    ensure(number >= 0 && number < cases());
    return cases_[static_cast<std::size_t>(number)];
  }

  const CaseReader reader_;
  const std::vector<int64_t> numbers_;  // in the whole index
  const std::string folder_;
  std::vector<Case> cases_;
};

}  // namespace

std::unique_ptr<VolumeSource> case_volumes(const DataConfig& data, const Index& index, Split split,
                                           const Json& transforms, const SampleForm& form,
                                           const MakeVolumes& make) {
  return std::make_unique<CaseVolumes>(index, split,
                                       CaseReader(data, index, form, picture_reading(transforms), make));
}

std::unique_ptr<PreparableDataset> make_volume_dataset(const DataConfig& data, const Index& index,
                                                       Split split, const Json& transforms,
                                                       const SampleForm& form, const MakeVolumes& make) {
  const auto chain = std::make_shared<const TransformChain>(transforms);
  auto source = case_volumes(data, index, split, transforms, form, make);
  const bool is_in_window = data.cache == "smart" && split == Split::train;
  const bool is_kept = !index.is_invented() && (data.cache == "full" || is_in_window);
  const auto in_memory = index.is_invented()               ? static_cast<std::size_t>(source->cases())
                         : chain->samples_per_volume() > 1 ? recent_cases
                                                           : 0;
  if (!is_kept && in_memory == 0) return transformed(std::move(source), chain);
  source = deterministic(std::move(source), chain);
  source = is_kept ? kept(std::move(source), data, chain->deterministic_declaration())
                   : recent(std::move(source), in_memory);
  return transformed(std::move(source), chain, ChainPart::random);
}

}  // namespace larmor

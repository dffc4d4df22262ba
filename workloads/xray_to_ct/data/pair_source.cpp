#include "workloads/xray_to_ct/data/pair_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"

#include "workloads/xray_to_ct/data/chest_phantom.h"
#include "workloads/xray_to_ct/data/ct_volume.h"
#include "workloads/xray_to_ct/data/pair_folder.h"
#include "workloads/xray_to_ct/data/pair_geometry.h"

namespace larmor::xray_to_ct {
namespace {

constexpr int64_t numbers_of_a_view = 10;

class PairSource final : public VolumeSource {
 public:
  PairSource(const DataConfig& data, PairConfig pairs, const Index& index, Split split, int64_t views,
             int64_t size)
      : data_(data),
        pairs_(std::move(pairs)),
        index_(index),
        numbers_(index.of(split)),
        views_(views),
        size_(size) {}

  int64_t cases() const override { return static_cast<int64_t>(numbers_.size()); }
  std::string case_name(int64_t number) const override { return case_of(number).name(); }
  std::string patient(int64_t number) const override { return case_of(number).patient; }
  std::string title(int64_t number) const override { return case_of(number).title(); }
  std::string origin() const override { return index_.folder.string(); }

  SourceVolumes get(const ExampleKey& key) const override {
    try {
      const RadiographPair pair =
          make_pair_of(data_, pairs_, index_, numbers_[static_cast<size_t>(key.example)], views_, size_);
      SourceVolumes given;
      given.volumes["volume"] = pair.volume;
      given.volumes["radiographs"] = {.voxels = pair.radiographs.unsqueeze(-1).contiguous()};
      given.volumes["geometry"] = {.voxels = geometry_numbers({pair.views, pair.intensities})};
      return given;
    } catch (const Error& error) {
      throw error.within(case_name(key.example));
    }
  }

  Contents contents(int64_t number, SourceHashes& hashes) const override {
    const Case& entry = case_of(number);
    Contents contents;
    for (const auto& [name, file] : entry.files) {
      if (index_.is_invented()) {
        contents.emplace_back(name, file);
        continue;
      }
      contents.emplace_back(name, hashes.of(index_.folder / file));
      const auto geometry = geometry_file(index_.folder / file);
      if (name == pair_file::ct && std::filesystem::is_regular_file(geometry))
        contents.emplace_back("geometry", hashes.of(geometry));
    }
    return contents;
  }

 private:
  const Case& case_of(int64_t number) const {
    ensure(number >= 0 && number < cases());
    return index_.cases[static_cast<size_t>(numbers_[static_cast<size_t>(number)])];
  }

  const DataConfig data_;
  const PairConfig pairs_;
  const Index index_;
  const std::vector<int64_t> numbers_;  // in the whole index
  const int64_t views_, size_;
};

}  // namespace

RadiographPair make_pair_of(const DataConfig& data, const PairConfig& pairs, const Index& index,
                            int64_t number, int64_t views, int64_t size) {
  const Case& entry = index.cases[static_cast<size_t>(number)];
  if (index.is_invented()) {
    const int64_t drawn =
        std::max(*std::max_element(data.phantom_size.begin(), data.phantom_size.end()), size);
    const auto parts = chest_parts(static_cast<uint64_t>(data.phantom_seed), number);
    return compute_pair(draw_chest(parts, pairs.extent, drawn), pairs, views, size);
  }
  if (pairs.ct.empty()) return read_pair(index.folder, entry, pairs, views, size);
  const Volume ct = oriented_ct(read_volume(index.folder / entry.name()));
  check_ct(ct, pairs);
  return compute_pair(centred_ct(ct, pairs.extent), pairs, views, size);
}

std::unique_ptr<VolumeSource> pair_source(const DataConfig& data, const PairConfig& pairs, const Index& index,
                                          Split split, int64_t views, int64_t size) {
  return std::make_unique<PairSource>(data, pairs, index, split, views, size);
}

at::Tensor geometry_numbers(const PlacedViews& placed) {
  ensure(placed.views.size() == placed.intensities.size());
  std::vector<float> numbers;
  const auto put = [&](double number) { numbers.push_back(static_cast<float>(number)); };
  for (size_t i = 0; i < placed.views.size(); ++i) {
    const RadiographView& view = placed.views[i];
    for (const double number :
         {view.beam == Beam::cone ? 1.0 : 0.0, view.degrees, static_cast<double>(view.pixels[0]),
          static_cast<double>(view.pixels[1]), view.spacing[0], view.spacing[1], view.source_to_isocentre,
          view.source_to_detector, placed.intensities[i].scale, placed.intensities[i].offset})
      put(number);
  }
  const auto views = static_cast<int64_t>(placed.views.size());
  return at::tensor(numbers).view({views, numbers_of_a_view, 1, 1});
}

PlacedViews views_from(const at::Tensor& numbers) {
  ensure(numbers.dim() == 4 && numbers.size(1) == numbers_of_a_view);
  const at::Tensor whole = numbers.contiguous();
  PlacedViews placed;
  for (int64_t i = 0; i < whole.size(0); ++i) {
    const float* n = whole.const_data_ptr<float>() + i * numbers_of_a_view;
    placed.views.push_back({.beam = n[0] != 0 ? Beam::cone : Beam::parallel,
                            .degrees = n[1],
                            .pixels = {static_cast<int64_t>(n[2]), static_cast<int64_t>(n[3])},
                            .spacing = {n[4], n[5]},
                            .source_to_isocentre = n[6],
                            .source_to_detector = n[7]});
    placed.intensities.push_back({.scale = n[8], .offset = n[9]});
  }
  return placed;
}

}  // namespace larmor::xray_to_ct

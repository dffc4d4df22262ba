#include "larmor/judge/prediction/prediction_samples.h"

#include <algorithm>
#include <span>

#include <ATen/core/TensorBody.h>

#include "larmor/base/text.h"
#include "larmor/judge/sample_moments.h"

namespace larmor {

namespace {

/// Of one of the volumes that come out of a case.
struct SampledVolume {
  SampleMoments moments;
  Affine affine = identity_affine();

  Volume mean() const { return {.voxels = moments.mean().to(at::kFloat), .affine = affine}; }
  Volume deviation() const { return {.voxels = moments.deviation().to(at::kFloat), .affine = affine}; }
};

SampledVolume volume_over(std::span<const PredictedCase> samples, std::size_t place) {
  SampledVolume volume;
  for (const auto& sample : samples) {
    const auto read = read_volume(sample.files[place].second);
    volume.affine = read.affine;
    volume.moments.add(read.voxels);
  }
  return volume;
}

}  // namespace

Json to_json(const SampleSummary& summary) {
  Json row{{"case", summary.one.name},
           {"inputs", summary.one.inputs},
           {"samples", summary.samples},
           {"outputs", Json::object()},
           {"values", Json::object()}};
  for (const auto& [name, file] : summary.files) row["outputs"][name] = file;
  return row;
}

std::vector<SampleSummary> summarize_samples(Storage& storage, const PredictionFiles& files,
                                             const PredictionForm& form,
                                             const std::vector<PredictionCase>& cases,
                                             const std::vector<PredictedCase>& results) {
  std::vector<SampleSummary> summaries;
  if (form.volumes.empty()) return summaries;
  const std::span all(results);
  std::size_t first = 0;
  for (const auto& one : sampled_cases(cases)) {
    while (cases[first].number != one.number) ++first;
    std::size_t count = 0;
    while (first + count < cases.size() && cases[first + count].number == one.number) ++count;
    const auto samples = all.subspan(first, count);
    if (!std::ranges::all_of(samples, [](const PredictedCase& sample) { return sample.failure.empty(); }))
      continue;
    auto& summary = summaries.emplace_back(SampleSummary{.one = one, .samples = std::ssize(samples)});
    for (std::size_t place = 0; place < form.volumes.size(); ++place) {
      const auto& name = form.volumes[place];
      const auto volume = volume_over(samples, place);
      const std::string suffix = form.volumes.size() == 1 ? "" : "-" + name;
      const auto mean = files.mean(one, name), deviation = files.deviation(one, name);
      write_volume(storage, mean, form, one, volume.mean());
      write_volume(storage, deviation, form, one, volume.deviation());
      summary.files.emplace_back("mean" + suffix, mean.string());
      summary.files.emplace_back("deviation" + suffix, deviation.string());
    }
  }
  return summaries;
}

}  // namespace larmor

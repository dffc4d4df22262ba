// What a stage is judged by: the volume that it samples for a case, beside what needs no network, and the
// spread of several.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/judge/bootstrap.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/back_projection.h"
#include "workloads/xray_to_ct/stage/cascade_picture.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"
#include "workloads/xray_to_ct/stage/earlier_samples.h"
#include "workloads/xray_to_ct/stage/volume_figures.h"

namespace larmor::xray_to_ct {
namespace {

constexpr int64_t spread_parts = 10;

/// Notes of one bin, squared: their means over cases are those of all voxels.
std::string deviation_note(int64_t bin) { return text("squared deviation ", bin); }
std::string error_note(int64_t bin) { return text("squared error ", bin); }

/// The draws of this thread's examples for one more sample of each.
DrawPosition draws_of_sample(int64_t sample) {
  DrawPosition position = draw_position();
  for (int64_t& epoch : position.epochs) epoch += sample;
  position.turn = 0;
  return position;
}

double mean_of_note(const CaseValues& cases, const std::string& name) {
  double sum = 0;
  const auto& values = cases.at(name);
  for (const auto& [example, value] : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double root_of_mean(std::span<const double> squares) {
  return std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.0) /
                   static_cast<double>(squares.size()));
}

/// The root of the mean of all notes, and that of each.
SplitMetric spread_figure(const CaseValues& cases, std::string (*note)(int64_t), Metrics& metrics) {
  std::vector<std::string> names;
  for (int64_t bin = 1; bin <= spread_parts; ++bin) names.push_back(note(bin));
  SplitMetric figure = of_means(metrics, cases, names, root_of_mean);
  figure.parts_by = "decile";
  for (int64_t bin = 1; bin <= spread_parts; ++bin)
    figure.parts.emplace_back(text(bin), std::sqrt(mean_of_note(cases, note(bin))));
  return figure;
}

}  // namespace

void CascadeTask::judge(const Batch& batch, const Examples& examples, Metrics& metrics) {
  const bool is_full = metrics.depth() == ValidationDepth::full;
  if (is_full && make_mean_volume_ && !mean_volume_.defined()) mean_volume_ = make_mean_volume_();
  Given given{.xrays = examples.xrays, .rays = examples.rays, .intensity = examples.intensity, .earlier = {}};
  if (config_.follows_another()) given.earlier = batch.at(earlier_name);
  const at::Tensor sampled = sample(given, metrics.progress());
  const at::Tensor seen = radiographs_of(sampled, examples.rays, examples.intensity, examples.xrays.size(2),
                                         examples.xrays.size(3), config_.pairs)
                              .squeeze(2);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = batch.keys[static_cast<std::size_t>(row)].example;
    const at::Tensor volume = sampled[row][0], truth = unscaled(examples.volume[row][0]);
    if (metrics.shows(example)) {
      CascadeCase made{.radiographs = examples.xrays[row],
                       .reprojections = seen[row],
                       .rays = examples.rays[row],
                       .truth = truth,
                       .stages = volumes_before(batch, row)};
      made.stages.push_back(volume);
      show_cascade(made, config_.pairs, example, metrics);
    }
    if (!is_full) continue;
    judge_volume(examples, row, example, volume, seen[row], metrics);
    if (config_.follows_another())
      metrics.value("psnr_upsampled", example,
                    volume_psnr(enlarged(given.earlier.narrow(0, row, 1))[0][0], truth));
  }
  if (is_full && config_.judged_samples > 1) judge_spread(batch, examples, given, sampled, metrics);
}

// The data have the volume of the stage before alone. What still earlier stages gave for it is sampled again,
// with the draws that it was sampled with.
std::vector<at::Tensor> CascadeTask::volumes_before(const Batch& batch, int64_t row) {
  if (!config_.follows_another()) return {};
  const at::Tensor radiographs = batch.at(pair::radiographs)[row];
  std::vector<at::Tensor> volumes;
  {
    const DrawScope draws(draws_of_kept_sample(radiographs, /*choice=*/0));
    volumes = earlier_->sampled_before(radiographs.squeeze(1).unsqueeze(0));
  }
  for (at::Tensor& volume : volumes) volume = volume[0][0];
  volumes.push_back(batch.at(earlier_name)[row][0]);
  return volumes;
}

void CascadeTask::judge_volume(const Examples& examples, int64_t row, int64_t example,
                               const at::Tensor& volume, const at::Tensor& seen, Metrics& metrics) const {
  const at::Tensor truth = unscaled(examples.volume[row][0]);
  metrics.value("psnr", example, volume_psnr(volume, truth));
  metrics.value("ssim", example, volume_ssim(volume, truth));
  const at::Tensor hu = hu_of_unit(volume, config_.pairs), true_hu = hu_of_unit(truth, config_.pairs);
  const at::Tensor error = (hu - true_hu).abs().masked_select(body_of(true_hu));
  metrics.value("mae_hu_body", example, error.mean().item<double>());
  metrics.value("reprojection_ncc", example, mean_correlation(seen, examples.xrays[row]));
  if (mean_volume_.defined())
    metrics.value("psnr_mean_volume", example, volume_psnr(mean_volume_[0].to(truth.device()), truth));
  metrics.value("psnr_back_projection", example,
                volume_psnr(back_projected(examples.xrays[row], examples.rays[row], truth), truth));
}

// The first sample stands on the earlier stage's volume that the data have, and each other one on a volume of
// its own: as with `predict --count`, what the earlier stage does not know is part of the spread.
void CascadeTask::judge_spread(const Batch& batch, const Examples& examples, const Given& given,
                               const at::Tensor& first, Metrics& metrics) {
  SpreadSamples samples;
  samples.add(first);
  Given anew = given;
  anew.earlier.reset();
  while (samples.count() < config_.judged_samples) {
    const DrawScope draws(draws_of_sample(samples.count()));
    samples.add(sample(anew, metrics.progress()));
  }
  const at::Tensor mean = samples.all().mean(), means = hu_of_unit(mean, config_.pairs);
  const at::Tensor deviations = hu_deviation(samples.all());
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = batch.keys[static_cast<std::size_t>(row)].example;
    const at::Tensor truth = unscaled(examples.volume[row][0]), true_hu = hu_of_unit(truth, config_.pairs);
    const at::Tensor error = (means[row][0] - true_hu).abs(), deviation = deviations[row][0];
    if (metrics.shows(example)) show_spread(error, deviation, example, metrics);
    const at::Tensor body = body_of(true_hu);
    const at::Tensor error_inside = error.masked_select(body), inside = deviation.masked_select(body);
    metrics.value("psnr_mean_of_samples", example, volume_psnr(mean[row][0], truth));
    metrics.value("mae_hu_body_mean_of_samples", example, error_inside.mean().item<double>());
    metrics.value("spread_rank_correlation", example, rank_correlation(inside, error_inside));
    if (samples.count() >= SpreadSamples::fewest) note_calibration(samples, row, true_hu, example, metrics);
  }
}

void CascadeTask::note_calibration(const SpreadSamples& samples, int64_t row, const at::Tensor& true_hu,
                                   int64_t example, Metrics& metrics) const {
  const at::Tensor body = body_of(true_hu);
  const auto inside = [&](const at::Tensor& volumes) { return volumes[row][0].masked_select(body); };
  const at::Tensor sorting = inside(hu_deviation(samples.sorting()));
  if (sorting.numel() < spread_parts) return;
  const at::Tensor deviation = inside(hu_deviation(samples.measured()));
  const at::Tensor mean = inside(hu_of_unit(samples.measured().mean(), config_.pairs));
  const at::Tensor error = (mean - true_hu.masked_select(body)) * samples.error_scale();
  int64_t number = 0;
  for (const SpreadBin& bin : spread_bins(sorting, deviation, error, spread_parts)) {
    metrics.note(deviation_note(++number), example, bin.deviation * bin.deviation);
    metrics.note(error_note(number), example, bin.error * bin.error);
  }
}

at::Tensor CascadeTask::hu_deviation(const SampleMoments& samples) const {
  const at::Tensor deviation = samples.deviation();
  return hu_of_unit(deviation, config_.pairs) - hu_of_unit(at::zeros_like(deviation), config_.pairs);
}

DeclaredFigures CascadeTask::figures() const {
  using enum Better;
  const DeclaredFigure psnr{.name = {}, .better = higher, .unit = "dB"};
  const auto of = [](DeclaredFigure figure, const char* name, const char* meaning) {
    figure.name = name;
    figure.meaning = meaning;
    return figure;
  };
  DeclaredFigure sampled = of(psnr, "psnr", "peak signal to noise of the sampled volume");
  sampled.baselines = {{.name = "psnr_mean_volume"},
                       {.name = "psnr_back_projection"},
                       {.name = "psnr_upsampled", .if_worse = "this stage adds nothing yet"}};
  return {
      {.name = "loss", .better = lower, .meaning = "diffusion and weighted physics"},
      {.name = "diffusion", .better = lower, .meaning = "error of the network at fixed times"},
      {.name = "physics", .better = lower, .meaning = "error of the radiographs of what it predicts"},
      sampled,
      of(psnr, "psnr_mean_volume", "the same of the mean of training volumes"),
      of(psnr, "psnr_back_projection", "the same of plain back-projection"),
      of(psnr, "psnr_upsampled", "the same of the earlier stage's volume, enlarged"),
      of(psnr, "psnr_mean_of_samples", "the same of the mean of several samples"),
      {.name = "ssim", .better = higher, .meaning = "structural similarity of the sampled volume"},
      {.name = "mae_hu_body",
       .better = lower,
       .unit = "HU",
       .meaning = "mean absolute error inside the body"},
      {.name = "mae_hu_body_mean_of_samples",
       .better = lower,
       .unit = "HU",
       .meaning = "the same of the mean of several samples"},
      {.name = "reprojection_ncc",
       .better = higher,
       .meaning = "correlation of the volume's radiographs with the given ones"},
      {.name = "spread_rank_correlation",
       .better = higher,
       .meaning = "Spearman's, of the samples' deviation with the error of their mean"},
      {.name = "spread_deviation_hu", .unit = "HU", .meaning = "deviation of the samples, by deciles of it"},
      {.name = "spread_error_hu",
       .unit = "HU",
       .meaning = "error of their mean, which of a right spread is as large"},
  };
}

void CascadeTask::summarize(const CaseValues& cases, const CaseValues& /*reference*/, Metrics& metrics) {
  if (!cases.contains(deviation_note(1))) return;
  metrics.figure("spread_deviation_hu", spread_figure(cases, deviation_note, metrics));
  metrics.figure("spread_error_hu", spread_figure(cases, error_note, metrics));
}

}  // namespace larmor::xray_to_ct

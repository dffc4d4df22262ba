// A stage of the cascade: a network that denoises volumes, steered by radiographs and, from the second stage
// on, by the volume that the stage before has made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "larmor/task/task.h"

#include "workloads/xray_to_ct/stage/cascade_config.h"
#include "workloads/xray_to_ct/stage/sample_spread.h"

namespace larmor::xray_to_ct {

class CascadeTask final : public Task {
 public:
  static constexpr const char* output_name = "volume";
  /// The name, in samples of stages that follow another, of what that one made of the case's radiographs, [1,
  /// d, h, w].
  static constexpr const char* earlier_name = "earlier";
  /// [1, D, H, W] of training cases, or undefined; called at most once.
  using MeanVolume = std::function<at::Tensor()>;

  /// A new network is drawn from `seed`; on c10::kMeta it has shapes alone. `earlier` is the task of the
  /// stage before, null for the first one.
  CascadeTask(const CascadeConfig& config, uint64_t seed, std::unique_ptr<CascadeTask> earlier,
              MeanVolume mean_volume = {}, c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  /// The networks of all stages before, by which it samples.
  std::vector<torch::nn::Module*> companions() override;
  /// Measures how volumes are scaled to a mean of zero and a deviation of one.
  void prepare(const EachBatch& first, const StepContext& context) override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  std::optional<int64_t> fixed_pass(const StepContext&) const override { return 0; }
  /// Metrics loss, diffusion and physics, of fixed times; at full depth a volume is sampled for every case.
  void validate(const Batch& batch, Metrics& metrics) override;
  /// Where several volumes are sampled of each case: their deviation and the error of their mean.
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  /// The volume in HU, and how well its radiographs agree with the given ones.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  void save(StateWriter& writer) const override;
  void load(const StateReader& reader, bool of_average) override;

  /// What a volume is sampled from; rows of one scope of draws.
  struct Given {
    at::Tensor xrays;           // [N, V, rows, columns]
    at::Tensor rays = {};       // of guidance; undefined: those of the config's own views
    at::Tensor intensity = {};  // of guidance; undefined: fitted at each step
    at::Tensor earlier = {};    // [N, 1, d, h, w]; undefined: sampled by the stages before
  };
  /// [N, 1, D, H, W] in [-1, 1]. Requires: a DrawScope with N examples.
  at::Tensor sample(const Given& given, const std::function<void(double)>& progress = {});

  /// What the stages before give for radiographs [N, V, rows, columns], the first one first, each
  /// [N, 1, d, h, w] in [-1, 1]: what sample() with the same draws and no earlier volume stands on.
  std::vector<at::Tensor> sampled_before(const at::Tensor& xrays);

  const CascadeConfig& config() const { return config_; }

 private:
  /// A batch as the network sees it.
  struct Examples {
    at::Tensor volume;  // [N, 1, D, H, W]
    at::Tensor xrays;   // [N, V, rows, columns]
    at::Tensor rays, intensity;
    at::Tensor earlier, augmented;  // as CascadeInput
  };
  struct Errors {
    at::Tensor diffusion, physics;  // [N]
  };

  /// The volume, from [-1, 1] to a mean of about zero and a deviation of about one, and back.
  at::Tensor scaled(const at::Tensor& volume) const { return (volume - centre_) / spread_; }
  at::Tensor unscaled(const at::Tensor& volume) const { return volume * spread_ + centre_; }
  Examples examples_of(const Batch& batch) const;
  /// What the network is told of the earlier stage while it learns, with draws for each row.
  void draw_earlier(Examples& examples, const at::Tensor& sampled) const;
  at::Tensor enlarged(const at::Tensor& volume) const;
  at::Tensor output_for(const Examples& examples, const at::Tensor& x, const at::Tensor& times) const;
  Errors errors_of(const Examples& examples, const at::Tensor& times, const at::Tensor& noise) const;
  at::Tensor physics_errors(const Examples& examples, const at::Tensor& x0) const;  // [N]
  /// An output whose x0 is kept in the range of volumes and, with guidance, moved towards the radiographs.
  at::Tensor corrected(const Examples& examples, const at::Tensor& x, const at::Tensor& output,
                       const at::Tensor& times) const;
  /// volumes [N, 1, D, H, W] in [-1, 1], a step down the gradient of the physics term.
  at::Tensor guided(const Examples& examples, const at::Tensor& volumes) const;
  void judge(const Batch& batch, const Examples& examples, Metrics& metrics);
  /// What the stages before gave for a row, the first one first, each [d, h, w].
  std::vector<at::Tensor> volumes_before(const Batch& batch, int64_t row);
  /// Judges a volume [D, H, W] in [-1, 1] that was sampled for a case.
  void judge_volume(const Examples& examples, int64_t row, int64_t example, const at::Tensor& volume,
                    const at::Tensor& seen, Metrics& metrics) const;
  /// The spread of all samples of each row, the first of which is there already.
  void judge_spread(const Batch& batch, const Examples& examples, const Given& given, const at::Tensor& first,
                    Metrics& metrics);
  /// The calibration of a row whose truth is `true_hu`, inside the body.
  void note_calibration(const SpreadSamples& samples, int64_t row, const at::Tensor& true_hu, int64_t example,
                        Metrics& metrics) const;
  at::Tensor hu_deviation(const SampleMoments& samples) const;
  Examples examples_given(const Given& given);
  /// [rows, V, …]: of the config's own views of this stage's volumes.
  at::Tensor own_rays(int64_t rows, c10::Device device) const;

  CascadeConfig config_;
  nn::NoiseSchedule schedule_;
  double centre_ = 0, spread_ = 1;  // of volumes in [-1, 1]
  std::shared_ptr<nn::CascadeNetwork> network_;
  std::unique_ptr<CascadeTask> earlier_;
  MeanVolume make_mean_volume_;
  at::Tensor mean_volume_;
};

}  // namespace larmor::xray_to_ct

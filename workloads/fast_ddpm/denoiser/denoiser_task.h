// Generates a missing modality: a network that denoises one channel, at the few times that its
// sampler visits, with the other channels beside it. Source: Jiang et al. 2025 (Fast-DDPM).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/device/device_constant.h"
#include "larmor/nn/sliding_window.h"
#include "larmor/task/task.h"

#include "workloads/fast_ddpm/denoiser/denoiser_config.h"

namespace larmor::fast_ddpm {

class DenoiserTask final : public Task {
 public:
  static constexpr const char* output_name = "generated";

  /// A new network is drawn from `seed`; on c10::kMeta it has shapes alone. `window`: voxels an axis of a
  /// training example, in which an image that does not fit in one pass is gone over. `validation`: how cases
  /// are gone over that are judged whole.
  DenoiserTask(const DenoiserConfig& config, uint64_t seed, std::vector<int64_t> window,
               c10::Device device = c10::kCPU, const ValidationConfig& validation = {});

  std::vector<Objective> objectives() override;
  /// `config.weights` replaces the network's.
  void start() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  std::optional<int64_t> fixed_pass(const StepContext&) const override { return 0; }
  /// Metric loss; at full depth every modality of a case is generated and held against the true one.
  void validate(const Batch& batch, Metrics& metrics) override;
  /// Means by modality, and the linear fit's.
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  /// The target, from 0 to 1000, on the grid of the first input's file.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;

  /// Called for the planner, on the meta device: what validation computes of a case [1, C, D, H, W] while a
  /// run trains, the picture with it.
  void count_judgement(const at::Tensor& image);

 private:
  /// How a network goes over an image.
  enum class Coverage : uint8_t { one_pass, training_windows, validation_windows };
  /// What a generation may do and tell.
  struct Pass {
    Coverage coverage = Coverage::one_pass;
    std::function<void(double)> progress = {};
  };

  at::Tensor present_in(const Batch& batch) const;  // [N, C] bool
  bool judges_whole_cases() const { return !validation_windows_.size.empty(); }
  /// Mean squared error of what the network says of each row's target at `times` [N].
  at::Tensor denoising_error(const at::Tensor& image, const at::Tensor& is_target, const at::Tensor& times,
                             Coverage coverage = Coverage::one_pass);
  /// How validation goes over a case: where memory does not hold it in one pass, as prediction does.
  Coverage coverage_to_judge(const at::Tensor& image, const Metrics& metrics) const;
  /// denoising_error() of one case in validation, at a time that is drawn for it.
  at::Tensor validation_error(const at::Tensor& image, int64_t target, Coverage coverage);
  /// generate() as validation does it.
  at::Tensor generate_to_judge(const at::Tensor& image, int64_t target, Pass pass);
  /// [1, 1, D, H, W] in [-1, 1]; image [1, C, D, H, W], whose target channel is not looked at.
  at::Tensor generate(const at::Tensor& image, const at::Tensor& is_target, const Pass& pass);
  /// What the network says of the target, as prediction_type has it.
  at::Tensor output_of(const at::Tensor& seen, const at::Tensor& is_target, const at::Tensor& times);
  /// The same, over an image of any size.
  at::Tensor output_for(const at::Tensor& seen, const at::Tensor& is_target, const at::Tensor& times,
                        Coverage coverage);
  /// Judges a row at full depth, and for a picture: generates the modalities of one row, image [1, C, D, H,
  /// W].
  void judge(const at::Tensor& image, const at::Tensor& present, const ExampleKey& key, Metrics& metrics);
  int64_t target_of(const Batch& inputs, const PredictionContext& context) const;
  at::Tensor gathered(const Batch& inputs, const PredictionContext& context) const;  // [1, C, D, H, W]

  DenoiserConfig config_;
  std::vector<int64_t> window_;
  DeviceConstant times_;            // [n] int64, that training draws from
  nn::Windows validation_windows_;  // without size: validation looks at crops
  nn::NoiseSchedule schedule_;
  nn::FastDdpmUnet network_{nullptr};
};

}  // namespace larmor::fast_ddpm

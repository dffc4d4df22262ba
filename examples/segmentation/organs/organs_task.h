// The network, its loss, and how it is judged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "larmor/measure/image_stage.h"
#include "larmor/nn/losses/dice_loss.h"
#include "larmor/nn/sliding_window.h"

#include "organs/basic_unet.h"

namespace larmor::segmentation {

struct OrgansConfig {
  std::vector<std::string> classes{"organ"};  // beside the background, from 1 on
  int64_t in_channels = 1;
  std::vector<int64_t> features{32, 32, 64, 128, 256, 32};
  nn::DiceCrossEntropyOptions loss;
};

class OrgansTask final : public Task {
 public:
  OrgansTask(const OrgansConfig& config, const TaskSetting& setting);

  std::vector<Objective> objectives() override { return {{.name = "unet", .network = network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  /// Dice of each class, and of taking all that is bright for the first one.
  void validate(const Batch& batch, Metrics& metrics) override;
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  /// The logits of the classes, of images [N, C, D, H, W] of any size, in windows where they are larger.
  at::Tensor logits_of(const at::Tensor& images, const std::function<void(double)>& progress = {});

 private:
  void record(const char* figure, int64_t example, const at::Tensor& overlap, Metrics& metrics) const;

  OrgansConfig config_;
  int64_t count_;  // of classes, the background among them
  nn::Windows windows_;
  std::shared_ptr<BasicUnet> network_;
};

}  // namespace larmor::segmentation

// Several trained networks, and mirrored inputs, as one task: the mean of what they predict.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "larmor/task/prediction.h"
#include "larmor/task/task.h"

namespace larmor {

struct TakenTogether {
  bool mirrored = false;  // each member sees each image once more with left and right exchanged
};

/// It predicts, and does nothing else of a task. Each member draws what it would draw alone.
class Ensemble final : public Task {
 public:
  Ensemble(std::vector<std::unique_ptr<Task>> members, const TakenTogether& how);

  std::vector<Objective> objectives() override;
  std::vector<torch::nn::Module*> companions() override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  void validate(const Batch& batch, Metrics& metrics) override;
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  std::string missing_values() const override;

 private:
  std::vector<std::unique_ptr<Task>> members_;
  const TakenTogether how_;
};

/// The axis of a grid, 0 to 2, along which left and right lie.
int64_t axis_of_sides(const Affine& affine);

/// The image with its voxels in the other order along that axis, and its place in the body as it was.
void exchange_sides(Batch& inputs, PredictionContext& context);

/// The mean of each volume, in float64, and of each number; what not all of them give is missing. Where they
/// have chances, those are averaged, and answer and probability are of the likeliest. Other words are the
/// first one's. Requires: at least one; volumes on equal grids.
Prediction mean_of(std::vector<Prediction> predictions);

/// Why a prediction of one form cannot be averaged with one of another; empty where it can.
std::string why_apart(const PredictionForm& one, const PredictionForm& other);

/// The size of the weights of its networks, in bytes.
uint64_t bytes_of_weights(Task& task);

}  // namespace larmor

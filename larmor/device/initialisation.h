// Reproducible initialisation: weights are drawn from the process-wide generator of libtorch, so networks are
// built one at a time under a seed; and weights that a file replaces are not drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor {

/// While it lives, libtorch's default CPU generator starts from `seed` and no other thread initialises
/// modules; afterwards the generator is as it was.
class SeededInitialisation {
 public:
  explicit SeededInitialisation(uint64_t seed);
  ~SeededInitialisation();
  SeededInitialisation(const SeededInitialisation&) = delete;
  SeededInitialisation& operator=(const SeededInitialisation&) = delete;

 private:
  struct Saved;
  std::unique_lock<std::recursive_mutex> lock_;
  std::unique_ptr<Saved> saved_;
};

/// While it lives, the functions below leave zeros in place of what they would draw on this thread: for
/// networks whose every weight is loaded next. Modules of libtorch itself, such as torch::nn::Conv3d, draw
/// all the same.
class SkippedInitialisation {
 public:
  SkippedInitialisation();
  ~SkippedInitialisation();
  SkippedInitialisation(const SkippedInitialisation&) = delete;
  SkippedInitialisation& operator=(const SkippedInitialisation&) = delete;

  /// The tensors that hold zeros instead of what belongs there. Who made the scope sees to it that all are
  /// loaded.
  const std::vector<at::Tensor>& undrawn() const { return undrawn_; }

 private:
  friend class DrawnInitialisation;
  friend bool is_skipped(const at::Tensor& weight);
  SkippedInitialisation* outer_;
  std::vector<at::Tensor> undrawn_;
};

/// While it lives, weights are drawn on this thread within a SkippedInitialisation too: weights that are
/// never loaded, such as those of a frozen network that come of a seed alone.
class DrawnInitialisation {
 public:
  DrawnInitialisation();
  ~DrawnInitialisation();
  DrawnInitialisation(const DrawnInitialisation&) = delete;
  DrawnInitialisation& operator=(const DrawnInitialisation&) = delete;

 private:
  SkippedInitialisation* skipped_;
};

/// The initialisers of torch::nn::init, with their draws and results. Of a tensor on c10::kMeta nothing is
/// drawn.
void initialise_normal(const at::Tensor& weight, double mean, double deviation);
void initialise_uniform(const at::Tensor& weight, double low, double high);
/// Draws weights for layers whose slope below zero is `slope`, by the number of inputs.
void initialise_kaiming_uniform(const at::Tensor& weight, double slope);
void initialise_xavier_uniform(const at::Tensor& weight);

/// A number that changes whenever libtorch's default CPU generator is used.
uint64_t default_generator_fingerprint();

}  // namespace larmor

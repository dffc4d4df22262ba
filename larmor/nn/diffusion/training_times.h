// Which times the rows of a training batch learn.
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/noise_schedule.h"

namespace larmor::nn {

struct TrainingTimesOptions {
  enum class Distribution {
    uniform,
    antithetic,    // uniform, and the two of a pair lie on both sides of the middle
    logit_normal,  // around the middle of a straight path
  };
  Distribution distribution = Distribution::uniform;
  double logit_mean = 0, logit_deviation = 1;  // of logit_normal. Source: Esser et al. 2024, section 3.1

  void describe(Fields& f);
  /// Throws Error (usage): logit_normal on a table, antithetic on a straight path.
  void check(const NoiseSchedule& schedule) const;
};

/// Where the times of a step on `like` are drawn: on its GPU, so that no step sends them there, or on the
/// host.
c10::Device device_of_times(const at::Tensor& like);

/// [N] on device_of_times(like), `like` [N, …], for the examples of this thread's DrawScope: int64 of a
/// table, float64 in [0, size()) of a straight path. Draws once a turn.
at::Tensor draw_training_times(const NoiseSchedule& schedule, const TrainingTimesOptions& options,
                               const at::Tensor& like);

}  // namespace larmor::nn

#include "larmor/nn/diffusion/training_times.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/sigmoid.h>

#include "larmor/base/error.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::nn {
namespace {

using TimesDistribution = TrainingTimesOptions::Distribution;

constexpr auto times_purpose = "training times";

}  // namespace

void TrainingTimesOptions::describe(Fields& f) {
  f.choice("times", distribution,
           {{"uniform", TimesDistribution::uniform},
            {"antithetic", TimesDistribution::antithetic},
            {"logit_normal", TimesDistribution::logit_normal}},
           "how the times that training learns are drawn; logit_normal goes with rectified_flow");
  f.field("logit_mean", logit_mean, "mean of logit_normal; above 0: more noise");
  f.field("logit_deviation", logit_deviation, "standard deviation of logit_normal", at_least_zero);
}

void TrainingTimesOptions::check(const NoiseSchedule& schedule) const {
  if (distribution == TimesDistribution::logit_normal && !schedule.is_straight())
    fail(Exit::usage, "times=logit_normal goes with schedule=rectified_flow alone",
         "choose times=uniform or antithetic");
  if (distribution == TimesDistribution::antithetic && schedule.is_straight())
    fail(Exit::usage, "times=antithetic is drawn from the time steps of a schedule with betas",
         "choose times=uniform or logit_normal for rectified_flow");
}

c10::Device device_of_times(const at::Tensor& like) {
  return like.is_cuda() ? like.device() : c10::Device(c10::kCPU);
}

at::Tensor draw_training_times(const NoiseSchedule& schedule, const TrainingTimesOptions& options,
                               const at::Tensor& like) {
  const c10::Device device = device_of_times(like);
  if (!schedule.is_straight()) {
    return options.distribution == TimesDistribution::antithetic
               ? draw_antithetic(schedule.size(), times_purpose, device)
               : draw_integers(schedule.size(), times_purpose, device);
  }
  const at::Tensor rows = at::empty({like.size(0)}, at::TensorOptions(device).dtype(at::kDouble));
  const at::Tensor share =
      options.distribution == TimesDistribution::logit_normal
          ? at::sigmoid(draw_normal_like(rows, times_purpose) * options.logit_deviation + options.logit_mean)
          : draw_uniform_like(rows, times_purpose);
  return share * static_cast<double>(schedule.size());
}

}  // namespace larmor::nn

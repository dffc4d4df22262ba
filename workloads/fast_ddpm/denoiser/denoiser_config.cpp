#include "workloads/fast_ddpm/denoiser/denoiser_config.h"

#include <set>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::fast_ddpm {

void DenoiserConfig::describe_model(Fields& f) {
  f.field("modalities", modalities, "channels of an image, in this order; any of them may be the target");
  network.describe(f);
  f.path("weights", weights, "safetensors file of such a network to start from; empty: a new one");
  nn::describe(f, prediction_type);
  f.section("noise", [this](Fields& inner) { noise.describe(inner); });
  f.section("sampling", [this](Fields& inner) {
    inner.field("timesteps", timesteps,
                "how many times are learned; all of them are sampled where steps does not say otherwise",
                at_least_one);
    inner.choice(
        "scheduler_type", scheduler_type,
        {{"uniform", nn::FastDdpmTimesteps::uniform},
         {"uniform_from_zero", nn::FastDdpmTimesteps::uniform_from_zero},
         {"non_uniform", nn::FastDdpmTimesteps::non_uniform}},
        "which times: the paper's 0, 99, …, 999, the 3-D fork's 0, 100, …, 900, or more of the late ones");
    inner.choice(
        "sampler", sampler,
        {{"generalized", nn::FastDdpmSampler::generalized}, {"ddpm_noisy", nn::FastDdpmSampler::ddpm_noisy}},
        "generalized: DDIM; ddpm_noisy: each step adds noise");
    inner.field("eta", eta, "noise that each generalized step adds; 0: none", fraction);
    inner.field(
        "steps", steps,
        "how many of these times sampling visits, spread over them, the noisiest always; 0: all. One gives "
        "the mean of what fits, which is nearer to the truth and smoother",
        at_least_zero);
    inner.field(
        "samples", samples,
        "how many images are sampled for one, their mean: with a few steps nearer to the truth, and smoother",
        at_least_one);
    inner.field("always_in_windows", always_in_windows,
                "samples in windows of a training example's size even where the image fits in one pass");
  });
}

void DenoiserConfig::describe_loss(Fields& f) {
  f.field("baseline_cases", baseline_cases,
          "training cases that the linear fit of psnr_brain_linear_fit is made on; 0: all", at_least_zero);
}

void DenoiserConfig::check() const {
  network.check();
  noise.check();
  const auto learned = std::ssize(times());
  if (steps > learned)
    fail(Exit::usage, text("model.sampling.steps=", steps, ", and ", learned, " times are learned"),
         "set it to as many at most, or to 0: all of them");
  const std::set<std::string> different(modalities.begin(), modalities.end());
  if (different.size() != modalities.size() || modalities.size() < 2)
    fail(Exit::usage, text("model.modalities is [", join(modalities, ", "), "]"),
         "name two modalities or more, each once");
  if (different.contains("target"))
    fail(Exit::usage, "model.modalities holds target, by which predict is told what is missing",
         "give that modality another name");
  if (network.in_channels != channels())
    fail(Exit::usage,
         text("model.in_channels=", network.in_channels, ", and model.modalities names ", channels()),
         text("set model.in_channels=", channels()));
  if (network.out_ch != 1)
    fail(Exit::usage,
         text("model.out_ch=", network.out_ch, ", and the network predicts one channel of noise"),
         "set model.out_ch=1");
  if (noise.schedule == nn::NoiseScheduleOptions::Kind::rectified_flow)
    fail(Exit::usage, "model.noise.schedule=rectified_flow has no betas, which Fast-DDPM's samplers go by",
         "set model.noise.schedule=linear, or another one");
  if (network.linear_skip && prediction_type != nn::PredictionType::sample)
    fail(Exit::usage, "model.linear_skip guesses the image, and model.prediction_type is another one",
         "set model.prediction_type=sample, or model.linear_skip=false");
  const nn::NoiseSchedule schedule(noise);
  nn::check(prediction_type, schedule);
  nn::check_beginning(schedule, sampled_times().front());
}

std::vector<int64_t> DenoiserConfig::times() const {
  return nn::fast_ddpm_timesteps(scheduler_type, timesteps, noise.num_train_timesteps);
}

std::vector<double> DenoiserConfig::sampled_times() const {
  const std::vector<double> all = nn::descending(times());
  const auto count = steps == 0 ? all.size() : static_cast<std::size_t>(steps);
  std::vector<double> visited;
  for (std::size_t i = 0; i < count; ++i) visited.push_back(all[i * all.size() / count]);
  return visited;
}

}  // namespace larmor::fast_ddpm

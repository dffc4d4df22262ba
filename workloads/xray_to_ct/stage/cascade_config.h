// What a stage of the cascade adds to the config: its network, its noise, what it learns and how it samples.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/noise_schedule.h"
#include "larmor/nn/diffusion/prediction_type.h"
#include "larmor/nn/diffusion/sampler.h"
#include "larmor/nn/diffusion/training_times.h"
#include "larmor/nn/networks/cascade_network.h"
#include "larmor/nn/networks/cascade_vit/cascade_vit_options.h"

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {

/// The earlier stage's volume as training and sampling see it.
struct EarlierVolumeConfig {
  int64_t samples = 2;        // of the earlier stage, kept for each case
  double truth_share = 0.25;  // of training examples that have a blurred truth in their place
  double noise = 0.2;         // the most that training adds, as a standard deviation
  double sampling_noise = 0.05;

  void describe(Fields& f);
};

struct CascadeConfig {
  enum class Head { patches, reference };

  explicit CascadeConfig(int64_t stage);

  int64_t stage;  // from 1 on
  PairConfig pairs;
  Head head = Head::patches;
  std::vector<std::string> views = {"pa", "lateral"};
  nn::CascadeVitOptions network;
  int64_t token_grid = 16;  // of the reference alone
  nn::NoiseScheduleOptions noise{.schedule = nn::NoiseScheduleOptions::Kind::cosine_clamped};
  nn::PredictionType prediction_type = nn::PredictionType::v_prediction;
  nn::SamplerOptions sampling;
  double guidance = 0;         // by the measured radiographs, while sampling
  int64_t judged_samples = 1;  // of each case, when a run is evaluated
  EarlierVolumeConfig earlier;

  nn::TrainingTimesOptions times;
  double min_snr_gamma = 5;
  double physics_weight = 0.3;
  int64_t baseline_cases = 32;

  bool follows_another() const { return stage > 1; }
  int64_t view_count() const { return static_cast<int64_t>(views.size()); }

  void describe_data(Fields& f) { pairs.describe(f); }
  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  /// Throws Error (usage).
  void check(const RunConfig& config) const;
  /// Throws Error (usage): an earlier stage of other views, a larger one, …
  void check_earlier(const CascadeConfig& earlier) const;
  /// A new network; on c10::kMeta shapes alone.
  std::shared_ptr<nn::CascadeNetwork> make_network(c10::Device device) const;
};

}  // namespace larmor::xray_to_ct

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/std.h>
#include <ATen/ops/sub.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/transform_catalogue.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

constexpr double largest = 1e30;

/// A step on values: the volumes it is for, less the masks.
template <class Change>
TransformRun on_values(const Targets& targets, Change change) {
  return [targets, change](LazyVolumes& volumes, const ExampleKey&) {
    for (auto& [name, volume] : volumes) {
      if (targets.wants(name) && !is_mask(name)) volume.change(change);
    }
  };
}

/// The same at random; `change(voxels, drawn)`.
template <class DrawOnce, class Change>
TransformRun on_values_at_random(Parameters& parameters, DrawOnce draw_once, Change change) {
  const auto targets = parameters.targets();
  return [targets, probability = parameters.probability(), purpose = parameters.purpose(), draw_once, change](
             LazyVolumes& volumes, const ExampleKey& key) {
    auto draws = draws_for(key, purpose);
    if (draws.uniform() >= probability) return;
    const auto drawn = draw_once(draws);
    for (auto& [name, volume] : volumes) {
      if (!targets.wants(name) || is_mask(name)) continue;
      volume.change([&](const at::Tensor& voxels) { return change(voxels, drawn); });
    }
  };
}

Transform percentiles(Parameters& parameters) {
  PercentileScaling scaling;
  scaling.lower = parameters.number("lower", 0, 100);
  scaling.upper = parameters.number("upper", 0, 100);
  scaling.b_min = parameters.number("b_min", -largest, largest);
  scaling.b_max = parameters.number("b_max", -largest, largest);
  scaling.clip = parameters.flag("clip", false);
  parameters.only("relative", false);
  scaling.channel_wise = parameters.flag("channel_wise", false);
  scaling.nonzero = parameters.flag("nonzero", false);
  const auto targets = parameters.targets();
  return on_values(targets, [scaling](const at::Tensor& voxels) {
    return scale_percentiles({voxels, identity_affine()}, scaling).voxels;
  });
}

Transform percentile_clip(Parameters& parameters) {
  const double lower = parameters.number_or("lower", 0, 0, 100),
               upper = parameters.number_or("upper", 100, 0, 100);
  parameters.only("sharpness_factor", nullptr);
  parameters.only("channel_wise", false);
  return on_values(parameters.targets(), [=](const at::Tensor& voxels) {
    const double least = percentile(voxels, lower), most = percentile(voxels, upper);
    if (std::isnan(least) || std::isnan(most))
      fail(Exit::data, "there are NaN voxels, so there are no percentiles", "repair or leave out the file");
    return at::clamp(voxels, least, most);
  });
}

Transform window(Parameters& parameters) {
  const double a_min = parameters.number("a_min", -largest, largest),
               a_max = parameters.number("a_max", -largest, largest);
  const double b_min = parameters.number_or("b_min", 0, -largest, largest),
               b_max = parameters.number_or("b_max", 1, -largest, largest);
  const bool clip = parameters.flag("clip", false), nonzero = parameters.flag("nonzero", false);
  return on_values(parameters.targets(), [=](const at::Tensor& voxels) {
    auto scaled = at::sub(voxels, a_min);
    if (a_max == a_min) {
      scaled.add_(b_min);
    } else {
      scaled.div_(a_max - a_min).mul_(b_max - b_min).add_(b_min);
      if (clip) scaled.clamp_(b_min, b_max);
    }
    return nonzero ? scaled.masked_fill_(voxels.eq(0), b_min) : scaled;
  });
}

Transform clip(Parameters& parameters) {
  const double least = parameters.number_or("min", -largest, -largest, largest),
               most = parameters.number_or("max", largest, -largest, largest);
  if (least > most) parameters.refuse("min is more than max");
  return on_values(parameters.targets(),
                   [=](const at::Tensor& voxels) { return at::clamp(voxels, least, most); });
}

// ---- to mean 0 and standard deviation 1

struct Normalisation {
  std::vector<double> subtrahend, divisor;  // one, or one a channel; empty: the mean and the deviation
  bool nonzero = false, channel_wise = false;
};

std::optional<double> entry(const std::vector<double>& values, int64_t channel) {
  if (values.empty()) return std::nullopt;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

at::Tensor normalised(const at::Tensor& voxels, const Normalisation& rule, int64_t channel) {
  const auto counted = rule.nonzero ? voxels.masked_select(voxels.ne(0)) : voxels;
  if (counted.numel() == 0) return voxels;
  const double sub = entry(rule.subtrahend, channel).value_or(0);
  const double mean = rule.subtrahend.empty() ? at::mean(counted).item<double>() : sub;
  double divisor = entry(rule.divisor, channel).value_or(0);
  if (rule.divisor.empty()) divisor = at::std(counted, /*unbiased=*/false).item<double>();
  const auto result = at::sub(voxels, mean).div_(divisor == 0 ? 1.0 : divisor);
  return rule.nonzero ? result.masked_fill_(voxels.eq(0), 0) : result;
}

std::vector<double> optional_numbers(Parameters& parameters, const std::string& name) {
  const Json* const value = parameters.find(name);
  if (value == nullptr || value->is_null()) return {};
  std::vector<double> numbers;
  for (const Json& item : value->is_array() ? *value : Json::array({*value})) {
    if (!item.is_number()) parameters.refuse(text(name, " is ", value->dump(), ", not numbers"));
    numbers.push_back(item.get<double>());
  }
  return numbers;
}

Transform normalise(Parameters& parameters) {
  const Normalisation rule{optional_numbers(parameters, "subtrahend"),
                           optional_numbers(parameters, "divisor"), parameters.flag("nonzero", false),
                           parameters.flag("channel_wise", false)};
  return on_values(parameters.targets(), [rule](const at::Tensor& voxels) {
    if (!rule.channel_wise) return normalised(voxels, rule, 0);
    for (const auto& given : {rule.subtrahend, rule.divisor}) {
      if (given.size() > 1 && static_cast<int64_t>(given.size()) != voxels.size(0)) {
        fail(Exit::data,
             text("NormalizeIntensity has ", given.size(), " values for ", voxels.size(0), " channels"),
             "give one a channel");
      }
    }
    auto result = at::empty(voxels.sizes(), voxels.options());
    for (int64_t channel = 0; channel < voxels.size(0); ++channel)
      result[channel].copy_(normalised(voxels[channel], rule, channel));
    return result;
  });
}

// ---- at random

/// One number for an image, or with channel_wise one for each of its channels, as [C, 1, 1, 1].
template <class Change>
TransformRun change_by_drawn(Parameters& parameters, const DrawRange& range, Change change) {
  if (!parameters.flag("channel_wise", false))
    return on_values_at_random(parameters, [range](Draws& draws) { return draw(draws, range); }, change);
  return on_values_at_random(
      parameters, [](Draws& draws) { return draws; },
      [range, change](const at::Tensor& voxels, Draws draws) {
        std::vector<double> drawn;
        for (int64_t channel = 0; channel < voxels.size(0); ++channel) drawn.push_back(draw(draws, range));
        return change(voxels, at::tensor(drawn, voxels.options()).reshape({-1, 1, 1, 1}));
      });
}

Transform random_shift(Parameters& parameters) {
  const DrawRange offsets = parameters.range("offsets", {0, 0});
  parameters.only("safe", false);
  return change_by_drawn(parameters, offsets, [](const at::Tensor& voxels, const auto& offset) {
    return at::add(voxels, offset);
  });
}

Transform random_scale(Parameters& parameters) {
  const DrawRange factors = parameters.range("factors", {0, 0});
  return change_by_drawn(parameters, factors, [](const at::Tensor& voxels, const auto& factor) {
    return at::mul(voxels, factor + 1);
  });
}

Transform random_contrast(Parameters& parameters) {
  DrawRange gamma{0.5, 4.5};
  if (const Json* const given = parameters.find("gamma"); given != nullptr) {
    if (given->is_number())
      gamma = {0.5, parameters.number("gamma", 0.5, largest)};
    else
      gamma = parameters.range("gamma", gamma);
  }
  parameters.only("invert_image", false);
  parameters.only("retain_stats", false);
  return on_values_at_random(
      parameters, [gamma](Draws& draws) { return draw(draws, gamma); },
      [](const at::Tensor& voxels, double exponent) {
        const double least = voxels.min().item<double>(), range = voxels.max().item<double>() - least;
        constexpr double epsilon = 1e-7;  // MONAI's, for volumes of one value
        return at::sub(voxels, least).div_(range + epsilon).pow_(exponent).mul_(range).add_(least);
      });
}

Transform random_noise(Parameters& parameters) {
  const double mean = parameters.number_or("mean", 0, -largest, largest),
               most = parameters.number_or("std", 0.1, 0, largest);
  const bool draws_deviation = parameters.flag("sample_std", true);
  const auto targets = parameters.targets();
  return [=, probability = parameters.probability(), purpose = parameters.purpose()](LazyVolumes& volumes,
                                                                                     const ExampleKey& key) {
    auto draws = draws_for(key, purpose);
    if (draws.uniform() >= probability) return;
    const double deviation = draws_deviation ? draw(draws, {0, most}) : most;
    for (auto& [name, volume] : volumes) {
      if (!targets.wants(name) || is_mask(name)) continue;
      const auto voxel_key = make_key(key.seed, static_cast<uint64_t>(key.epoch),
                                      static_cast<uint64_t>(key.example), text(purpose, " of ", name));
      volume.change([&](const at::Tensor& voxels) {
        // Drawn in the order of axes, whatever lies where in memory.
        auto noise = at::empty(voxels.sizes(), voxels.options(), at::MemoryFormat::Contiguous);
        fill_normal(voxel_key, {noise.mutable_data_ptr<float>(), static_cast<std::size_t>(noise.numel())});
        return noise.mul_(deviation).add_(mean).add_(voxels);
      });
    }
  };
}

}  // namespace

const std::vector<KnownTransform>& intensity_transforms() {
  static const std::vector<KnownTransform> known{{"ScaleIntensityRangePercentiles", percentiles},
                                                 {"ScaleIntensityRange", window},
                                                 {"ClipIntensityPercentiles", percentile_clip},
                                                 {"Clip", clip},
                                                 {"NormalizeIntensity", normalise},
                                                 {"RandShiftIntensity", random_shift, true},
                                                 {"RandScaleIntensity", random_scale, true},
                                                 {"RandAdjustContrast", random_contrast, true},
                                                 {"RandGaussianNoise", random_noise, true}};
  return known;
}

}  // namespace larmor

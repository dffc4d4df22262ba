#include "workloads/fast_ddpm/denoiser/contrast_phantom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <ATen/ops/empty.h>

#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/data/synthetic/phantom.h"

namespace larmor::fast_ddpm {
namespace {

constexpr float outside = 45;     // below it lies air
constexpr float deviation = 20;   // of each contrast's noise
constexpr std::size_t knots = 7;  // fluid lies at 150 on T1, grey matter at 470, white at 720, fat at 780

/// What a brightness on T1 becomes in a contrast: straight between the knots.
struct Contrast {
  std::array<float, knots> at_knot;
};
constexpr std::array<float, knots> brightness_on_t1 = {0, 150, 330, 470, 720, 800, 1100};
constexpr std::array<Contrast, 4> contrasts = {{{{0, 150, 330, 470, 720, 800, 1100}},
                                                {{0, 140, 420, 520, 700, 900, 1300}},
                                                {{60, 950, 400, 620, 380, 520, 700}},
                                                {{40, 160, 380, 640, 460, 560, 900}}}};

float remapped(const Contrast& contrast, float value) {
  std::size_t next = 1;
  while (next + 1 < knots && value > brightness_on_t1[next]) ++next;
  const float share =
      (value - brightness_on_t1[next - 1]) / (brightness_on_t1[next] - brightness_on_t1[next - 1]);
  return contrast.at_knot[next - 1] + share * (contrast.at_knot[next] - contrast.at_knot[next - 1]);
}

}  // namespace

Volume make_contrast_phantom(uint64_t seed, int64_t number, const std::vector<int64_t>& size,
                             int64_t channels) {
  const Volume t1 = make_phantom(seed, number, size);
  const auto voxels = static_cast<std::size_t>(t1.voxels.numel());
  const float* const from = t1.voxels.const_data_ptr<float>();
  Volume all{.voxels = at::empty({channels, size[0], size[1], size[2]}, at::kFloat), .affine = t1.affine};
  float* to = all.voxels.mutable_data_ptr<float>();
  std::vector<float> noise(voxels);
  for (int64_t channel = 0; channel < channels; ++channel, to += voxels) {
    const Contrast& contrast = contrasts[static_cast<std::size_t>(channel) % contrasts.size()];
    fill_normal(make_key(seed, 0, static_cast<uint64_t>(number), text("contrast ", channel)), noise);
    for (std::size_t i = 0; i < voxels; ++i) {
      const float bright = std::max(remapped(contrast, from[i]) + deviation * noise[i], 1.0F);
      to[i] = from[i] < outside ? 0 : bright;
    }
  }
  return all;
}

MakeVolumes contrast_phantoms(const DataConfig& data, int64_t channels) {
  return [seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size, channels](
             const Case&, int64_t number) -> Volumes {
    return {{"image", make_contrast_phantom(seed, number, size, channels)}};
  };
}

}  // namespace larmor::fast_ddpm

#include "workloads/latent_diffusion/scans/low_count.h"

#include <cmath>

#include <ATen/ops/empty_like.h>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"
#include "larmor/data/synthetic/phantom.h"

namespace larmor::latent_diffusion {
namespace {

constexpr double full_brightness = 1000;

/// By the distribution's sums, one after the other. Requires: a mean whose exponential is far above 0.
double small_poisson(double mean, Draws& draws) {
  const double drawn = draws.uniform();
  double counts = 0, probability = std::exp(-mean), sum = probability;
  while (drawn > sum && probability > 0) {
    ++counts;
    probability *= mean / counts;
    sum += probability;
  }
  return counts;
}

/// The sum of draws is a draw of the sum of means.
double poisson(double mean, Draws& draws) {
  constexpr double part = 16;
  double counts = 0;
  for (; mean > part; mean -= part) counts += small_poisson(part, draws);
  return counts + small_poisson(mean, draws);
}

}  // namespace

Volume with_low_counts(const Volume& scan, double counts, uint64_t seed, int64_t number) {
  ensure(counts > 0);
  const at::Tensor given = scan.voxels.contiguous();
  Volume noisy = scan;
  noisy.voxels = at::empty_like(given);
  const float* const from = given.const_data_ptr<float>();
  float* const to = noisy.voxels.mutable_data_ptr<float>();
  Draws draws(make_key(seed, 0, static_cast<uint64_t>(number), "low counts"));
  const double scale = counts / full_brightness;
  for (int64_t i = 0; i < given.numel(); ++i)
    to[i] = static_cast<float>(poisson(from[i] * scale, draws) / scale);
  return noisy;
}

void PhantomPairs::describe(Fields& f) {
  f.field(
      "low_counts", low_counts,
      "for kind phantom: each head becomes a pair, whose image is a scan with so many counts in a voxel of "
      "brightness 1000, each a Poisson draw, and whose label is the head; 0: no pairs",
      at_least_zero);
}

MakeVolumes PhantomPairs::maker(const DataConfig& data) const {
  if (low_counts == 0) return {};
  return [counts = low_counts, seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size](
             const Case&, int64_t number) -> Volumes {
    const Volume head = make_phantom(seed, number, size);
    return {{"image", with_low_counts(head, counts, seed, number)}, {"label", head}};
  };
}

}  // namespace larmor::latent_diffusion

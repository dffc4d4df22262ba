#include "larmor/data/synthetic/phantom.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

#include <ATen/ops/empty.h>

#include "larmor/base/seed.h"
#include "larmor/data/synthetic/smooth_noise.h"

namespace larmor {
namespace {

constexpr double field_of_view = 204;  // mm

struct Point {
  float x, y, z;  // mm: right, anterior, superior; the head's middle is at 0
};

// Kept as what a voxel needs of it: most of the work is asking many of these about many points.
class Ellipsoid {
 public:
  Ellipsoid() = default;
  Ellipsoid(Point centre, Point radii)
      : centre_(centre),
        radii_(radii),
        inverse_{1 / radii.x, 1 / radii.y, 1 / radii.z},
        half_least_(std::min({radii.x, radii.y, radii.z}) / 2) {}

  // 0 in the middle, 1 on the surface, more outside.
  float square_distance(Point p) const {
    const float x = (p.x - centre_.x) * inverse_.x, y = (p.y - centre_.y) * inverse_.y,
                z = (p.z - centre_.z) * inverse_.z;
    return x * x + y * y + z * z;
  }
  // About how many mm p lies under the surface; best near it.
  float depth(Point p) const { return (1 - square_distance(p)) * half_least_; }
  // 1 inside, 0 outside; the change takes an edge, whose inverse is given.
  float cover(Point p, float sharpness) const { return unit(depth(p) * sharpness + 0.5F); }
  Ellipsoid shrunk(float millimetres) const {
    return {centre_, {radii_.x - millimetres, radii_.y - millimetres, radii_.z - millimetres}};
  }
  Ellipsoid mirrored() const { return {{-centre_.x, centre_.y, centre_.z}, radii_}; }

  static float unit(float value) { return std::min(std::max(value, 0.0F), 1.0F); }

 private:
  Point centre_{}, radii_{}, inverse_{};
  float half_least_ = 0;
};

// Brightness on a T1-weighted image.
namespace shade {
constexpr float air = 8, fat = 780, muscle = 330, bone = 70, fluid = 150, grey = 470, white = 720,
                nucleus = 540;
}  // namespace shade

float mix(float from, float to, float share) { return from + (to - from) * share; }

// 1 where |value| is under the width, 0 beyond; the change takes an edge, whose inverse is given.
float near_zero(float value, float width, float sharpness) {
  return Ellipsoid::unit((width - std::abs(value)) * sharpness + 0.5F);
}

// One head: what is where, before folds and noise.
struct Anatomy {
  Ellipsoid cranium, face, neck, nose;  // skin
  Ellipsoid under_scalp, under_face, under_neck;
  Ellipsoid under_skull, brain, cerebellum, stem;
  Ellipsoid core;                  // holds all ventricles and nuclei, to pass them by elsewhere
  Ellipsoid middle;                // what the fissure between the halves leaves whole
  std::array<Ellipsoid, 5> fluid;  // ventricles: two bodies, two horns, the third
  std::array<Ellipsoid, 4> nuclei;
  Ellipsoid lesion, lesion_core;
  float lesion_shade = 0;
  bool has_lesion = false;
  float cortex = 18;  // mm that folds reach down
  float nod_sine = 0, nod_cosine = 1, turn_sine = 0, turn_cosine = 1;
  Point shift{};
};

class Dice {
 public:
  Dice(uint64_t seed, int64_t number)
      : draws_(make_key(seed, 0, static_cast<uint64_t>(number), "phantom anatomy")) {}
  float between(double least, double most) {
    return static_cast<float>(least + (most - least) * draws_.uniform());
  }
  float about(double value, double spread) { return between(value * (1 - spread), value * (1 + spread)); }

 private:
  Draws draws_;
};

Anatomy draw_anatomy(uint64_t seed, int64_t number) {
  Dice dice(seed, number);
  Anatomy head;
  const float width = dice.about(1, 0.05), length = dice.about(1, 0.04), height = dice.about(1, 0.05);
  const auto ellipsoid = [&](Point centre, Point radii) {
    return Ellipsoid{{centre.x * width, centre.y * length, centre.z * height},
                     {radii.x * width, radii.y * length, radii.z * height}};
  };
  head.cranium = ellipsoid({0, 0, 14}, {74, 90, 76});
  head.face = ellipsoid({0, 30, -52}, {54, 54, 58});
  head.neck = ellipsoid({0, -22, -90}, {50, 50, 70});
  head.nose = ellipsoid({0, 86, -38}, {10, 12, 18});
  const float scalp = dice.between(5, 7), skull = dice.between(5.5, 8), gap = dice.between(2, 4);
  head.cortex = dice.between(16, 22);
  head.under_scalp = head.cranium.shrunk(scalp);
  head.under_face = head.face.shrunk(7);
  head.under_neck = head.neck.shrunk(7);
  head.under_skull = head.cranium.shrunk(scalp + skull);
  head.brain = head.cranium.shrunk(scalp + skull + gap);
  head.cerebellum = ellipsoid({0, -44, -34}, {46, 27, 23});
  head.stem = ellipsoid({0, -16, -44}, {12, 12, 42});
  head.core = ellipsoid({0, -5, 16}, {42, 55, 32});
  head.middle = ellipsoid({0, -2, 14}, {30, 42, 24});

  const float swollen = dice.about(1, 0.3);
  const Ellipsoid body = ellipsoid({9, 2, 26}, {5.5F * swollen, 30, 8 * swollen});
  const Ellipsoid horn = ellipsoid({18, -30, 16}, {5.5F * swollen, 15, 8 * swollen});
  const Ellipsoid third = ellipsoid({0, -6, 8}, {2.2F * swollen, 12, 9});
  head.fluid = {body, body.mirrored(), horn, horn.mirrored(), third};
  const Ellipsoid thalamus = ellipsoid({12, -12, 9}, {8, 14, 9});
  const Ellipsoid putamen = ellipsoid({25, 6, 8}, {6, 18, 10});
  head.nuclei = {thalamus, thalamus.mirrored(), putamen, putamen.mirrored()};

  head.has_lesion = dice.between(0, 1) < 0.4F;
  const float side = dice.between(0, 1) < 0.5F ? -1.0F : 1.0F;
  const float radius = dice.between(4, 13);
  const Point radii = {radius, dice.about(radius, 0.3), dice.about(radius, 0.3)};
  const Point place = {side * dice.between(24, 40), dice.between(-45, 40), dice.between(10, 50)};
  head.lesion = ellipsoid(place, radii);
  head.lesion_core = head.lesion.shrunk(2.5F);
  head.lesion_shade = dice.between(200, 330);

  head.nod_sine = dice.between(-0.14, 0.14);
  head.nod_cosine = std::sqrt(1 - head.nod_sine * head.nod_sine);
  head.turn_sine = dice.between(-0.07, 0.07);
  head.turn_cosine = std::sqrt(1 - head.turn_sine * head.turn_sine);
  head.shift = {dice.between(-4, 4), dice.between(-4, 4), dice.between(-4, 4)};
  return head;
}

// From the scanner's axes to the head's: moved, nodded, turned.
Point in_head(const Anatomy& head, Point p) {
  p = {p.x - head.shift.x, p.y - head.shift.y, p.z - head.shift.z};
  p = {p.x, head.nod_cosine * p.y + head.nod_sine * p.z, head.nod_cosine * p.z - head.nod_sine * p.y};
  return {head.turn_cosine * p.x + head.turn_sine * p.y, head.turn_cosine * p.y - head.turn_sine * p.x, p.z};
}

// Cerebrum: white matter under a cortex whose folds follow the zero surfaces of a random field: fluid along
// them, grey matter beside it, white matter between. Folds die out towards the middle.
float cerebrum(const Anatomy& head, Point p, float fold, float sharpness) {
  const float depth = head.brain.depth(p);
  const float reach = Ellipsoid::unit((head.cortex - depth) / 8 + 0.5F);
  const float apart = std::abs(p.x) < 12 ? 1 - head.middle.cover(p, 0.25F) : 0.0F;
  const float ribbon = std::max({near_zero(fold, 0.62F, 4) * reach, near_zero(depth, 4, sharpness),
                                 near_zero(p.x, 4.5F, sharpness / 2) * apart});
  const float sulcus =
      std::max(near_zero(fold, 0.16F, 4) * reach, near_zero(p.x, 1.2F, sharpness / 2) * apart);
  float value = mix(shade::white, shade::grey, ribbon);
  value = mix(value, shade::fluid, 0.85F * sulcus);
  const bool deep = head.core.square_distance(p) < 1;
  if (deep) {
    for (const Ellipsoid& nucleus : head.nuclei)
      value = mix(value, shade::nucleus, nucleus.cover(p, sharpness));
  }
  if (head.has_lesion) {
    const float inside = head.lesion.cover(p, sharpness / 2);
    const float rim = std::max(0.0F, inside - head.lesion_core.cover(p, sharpness / 2));
    value = mix(mix(value, head.lesion_shade, inside), 900, 0.6F * rim);
  }
  if (!deep) return value;
  for (const Ellipsoid& ventricle : head.fluid)
    value = mix(value, shade::fluid, ventricle.cover(p, sharpness));
  return value;
}

// Scalp, skull and what lies below the brain.
float shell(const Anatomy& head, Point p, float fold, float texture, float above_floor, float sharpness) {
  const float deep = std::max({head.under_scalp.cover(p, sharpness), head.under_face.cover(p, sharpness),
                               head.under_neck.cover(p, sharpness)});
  float value = mix(shade::fat, shade::muscle + 70 * texture, deep);
  const float cerebellum = head.cerebellum.cover(p, sharpness), stem = head.stem.cover(p, sharpness);
  const float hind = std::max(cerebellum, stem);
  constexpr float floor_thickness = 7;
  const float bone = std::max(Ellipsoid::unit(above_floor + floor_thickness * sharpness), hind);
  value = mix(value, shade::bone, head.under_scalp.cover(p, sharpness) * bone);
  const float vault = std::max(Ellipsoid::unit(above_floor), hind);
  value = mix(value, shade::fluid, head.under_skull.cover(p, sharpness) * vault);
  value = mix(value, mix(shade::white - 60, shade::grey - 40, near_zero(fold, 0.3F, 2)), cerebellum);
  return mix(value, shade::white - 40, stem);
}

// Without shading and noise. `fold` and `texture` are the smooth fields at p; `sharpness` is 1 / voxel size.
float tissue(const Anatomy& head, Point p, float fold, float texture, float sharpness) {
  // The floor of the skull slopes down to the back: cerebellum and stem are all that lies below it.
  const float above_floor = (p.z + 24 + 0.25F * p.y) * sharpness + 0.5F;
  const float brain = head.brain.cover(p, sharpness) * Ellipsoid::unit(above_floor);
  const float grain = 1 + 0.03F * texture;
  if (brain == 1) return cerebrum(head, p, fold, sharpness) * grain;
  const float skin = std::max({head.cranium.cover(p, sharpness), head.face.cover(p, sharpness),
                               head.neck.cover(p, sharpness), head.nose.cover(p, sharpness)});
  if (skin == 0) return shade::air;
  float value = shell(head, p, fold, texture, above_floor, sharpness);
  if (brain > 0) value = mix(value, cerebrum(head, p, fold, sharpness), brain);
  return mix(shade::air, value * grain, skin);
}

}  // namespace

Affine phantom_affine(const std::vector<int64_t>& size) { return centred_affine(size, field_of_view); }

Volume make_phantom(uint64_t seed, int64_t number, const std::vector<int64_t>& size) {
  assert(size.size() == 3 && size[0] > 0 && size[1] > 0 && size[2] > 0);
  const auto key = [&](const char* purpose) {
    return make_key(seed, 0, static_cast<uint64_t>(number), purpose);
  };
  Volume volume{.voxels = {}, .affine = phantom_affine(size)};
  std::array<std::size_t, 3> extent{};
  std::array<float, 3> spacing{}, start{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    extent[axis] = static_cast<std::size_t>(size[axis]);
    spacing[axis] = static_cast<float>(volume.affine[axis][axis]);
    start[axis] = static_cast<float>(volume.affine[axis][3]);
  }
  const auto fold = smooth_noise(key("phantom folds"), 26, extent);
  const auto texture = smooth_noise(key("phantom texture"), 32, extent);
  const auto shading = smooth_noise(key("phantom shading"), 3, extent);
  std::vector<float> noise(2 * fold.size());
  fill_normal(key("phantom noise"), noise);

  const Anatomy head = draw_anatomy(seed, number);
  // The finest axis decides how sharp borders are: thick slices must not blur what is sharp within them.
  const float sharpness = 1 / std::max(0.8F, *std::min_element(spacing.begin(), spacing.end()));
  constexpr float deviation = 14;
  volume.voxels = at::empty({1, size[0], size[1], size[2]}, at::kFloat);
  float* voxels = volume.voxels.data_ptr<float>();
  std::size_t at = 0;
  for (std::size_t i = 0; i < extent[0]; ++i) {
    for (std::size_t j = 0; j < extent[1]; ++j) {
      for (std::size_t k = 0; k < extent[2]; ++k, ++at) {
        const Point p = in_head(head, {start[0] + spacing[0] * static_cast<float>(i),
                                       start[1] + spacing[1] * static_cast<float>(j),
                                       start[2] + spacing[2] * static_cast<float>(k)});
        const float ideal = tissue(head, p, fold[at], texture[at], sharpness) * (1 + 0.06F * shading[at]);
        // The magnitude of a complex signal, as a scanner gives it.
        const float real = ideal + deviation * noise[2 * at], imaginary = deviation * noise[2 * at + 1];
        voxels[at] = std::sqrt(real * real + imaginary * imaginary);
      }
    }
  }
  return volume;
}

}  // namespace larmor

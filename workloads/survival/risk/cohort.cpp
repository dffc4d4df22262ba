#include "workloads/survival/risk/cohort.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>

#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"

namespace larmor::survival {
namespace {

constexpr double cohort_field_of_view = 160;  // mm
constexpr std::string_view cohort_prefix = "cohort-";

constexpr double least_diameter = 16, most_diameter = 40;  // mm
constexpr double least_density = 140, most_density = 480;  // HU
constexpr double weight_of_diameter = 1.4, weight_of_density = 1.1;
constexpr double first_event_day = 34, median_days = 1000, weibull_shape = 1.5;
constexpr double shortest_follow_up = 730, end_of_study = 2500;  // days

class CohortDice {
 public:
  CohortDice(uint64_t seed, int64_t number, std::string_view purpose)
      : draws_(make_key(seed, 0, static_cast<uint64_t>(number), purpose)) {}
  double between(double least, double most) { return least + (most - least) * draws_.uniform(); }
  float about(double value, double spread) {
    return static_cast<float>(between(value * (1 - spread), value * (1 + spread)));
  }

 private:
  Draws draws_;
};

struct Place {
  float x, y, z;  // mm: right, anterior, superior; the middle of the volume is at 0
};

float clamped(float value) { return std::min(std::max(value, 0.0F), 1.0F); }
float blend(float from, float to, float share) { return from + (to - from) * share; }

struct Blob {
  Place centre{}, radii{};
  float density = 0;  // HU

  // 0 in the middle, 1 on the surface.
  float square_distance(Place p) const {
    const float x = (p.x - centre.x) / radii.x, y = (p.y - centre.y) / radii.y,
                z = (p.z - centre.z) / radii.z;
    return x * x + y * y + z * z;
  }
  // About how many mm p lies under the surface; best near it.
  float depth(Place p) const { return (1 - square_distance(p)) * std::min({radii.x, radii.y, radii.z}) / 2; }
};

// What a patient looks like, before noise.
struct CohortBody {
  Blob skin;          // its density is that of fat
  float fat = 6;      // mm
  float tissue = 40;  // HU
  std::array<Blob, 5> organs;
  Place spine{};
  float spine_radius = 10, rib_gap = 26, rib_slant = 0.3F, bone_shift = 0;  // mm, but for the slant
  float bone = 400;                                                         // HU
  Blob lesion;
};

struct LesionDraw {
  double diameter_mm, density_hu;
};

LesionDraw draw_lesion(uint64_t seed, int64_t number) {
  CohortDice dice(seed, number, "cohort lesion");
  const double diameter_mm = dice.between(least_diameter, most_diameter);
  return {diameter_mm, dice.between(least_density, most_density)};
}

// Ribs end within this distance from the skin, wherever it is.
constexpr double wall = 24;  // mm

// Anywhere inside the ribs and in front of the spine where all of the lesion finds room. What is refused is
// drawn again; the middle of the belly is always free.
Place draw_lesion_place(CohortDice& dice, const CohortBody& body, float radius) {
  constexpr int tries = 100;
  const Place reach = {body.skin.radii.x - static_cast<float>(wall) - radius,
                       body.skin.radii.y - static_cast<float>(wall) - radius,
                       body.skin.radii.z - static_cast<float>(wall) - radius};
  for (int i = 0; i < tries; ++i) {
    const Place unit = {static_cast<float>(dice.between(-1, 1)), static_cast<float>(dice.between(-1, 1)),
                        static_cast<float>(dice.between(-1, 1))};
    if (unit.x * unit.x + unit.y * unit.y + unit.z * unit.z > 1) continue;
    const Place p = {body.skin.centre.x + reach.x * unit.x, body.skin.centre.y + reach.y * unit.y,
                     body.skin.centre.z + reach.z * unit.z};
    const float x = p.x - body.spine.x, y = p.y - body.spine.y, apart = radius + body.spine_radius + 7;
    if (x * x + y * y > apart * apart) return p;
  }
  return {body.skin.centre.x, body.skin.centre.y + reach.y / 2, body.skin.centre.z};
}

CohortBody draw_body(uint64_t seed, int64_t number) {
  CohortDice dice(seed, number, "cohort body");
  const auto between = [&](double least, double most) {
    return static_cast<float>(dice.between(least, most));
  };
  CohortBody body;
  body.skin = {.centre = {between(-3, 3), between(-3, 3), between(-3, 3)},
               .radii = {dice.about(70, 0.05), dice.about(60, 0.05), dice.about(75, 0.03)},
               .density = between(-110, -80)};
  body.fat = between(4, 7);
  body.tissue = between(30, 50);
  for (std::size_t i = 0; i < body.organs.size(); ++i) {
    Blob& organ = body.organs[i];
    organ.centre = {between(-35, 35), between(-20, 35), between(-45, 45)};
    organ.radii = {between(8, 24), between(8, 24), between(8, 24)};
    // The last one is gas.
    organ.density = i + 1 < body.organs.size() ? between(0, 80) : between(-500, -200);
    if (i + 1 == body.organs.size()) organ.radii = {between(4, 9), between(4, 9), between(4, 9)};
  }
  body.spine = {body.skin.centre.x + between(-3, 3), body.skin.centre.y - body.skin.radii.y + 24, 0};
  body.spine_radius = between(9, 11);
  body.rib_gap = between(23, 29);
  body.rib_slant = between(0.2, 0.45);
  body.bone_shift = between(0, 29);
  body.bone = between(330, 450);

  const LesionDraw drawn = draw_lesion(seed, number);
  const auto radius = static_cast<float>(drawn.diameter_mm / 2);
  body.lesion = {.centre = draw_lesion_place(dice, body, radius),
                 .radii = {radius, radius, radius},
                 .density = static_cast<float>(drawn.density_hu)};
  return body;
}

// From 1 in the middle of each period to -1 at its ends.
float zigzag(float value, float period) {
  const float turns = value / period;
  return 1 - 4 * std::abs(turns - std::floor(turns) - 0.5F);
}

// Ribs are slanted hoops under the fat; the spine is a column of vertebrae with softer discs between them.
float bone_share(const CohortBody& body, Place p, float depth, float sharpness) {
  const float hoop = zigzag(p.z + body.rib_slant * p.y + body.bone_shift, body.rib_gap);
  const float under =
      clamped((depth - body.fat) * sharpness + 0.5F) * clamped((body.fat + 7 - depth) * sharpness + 0.5F);
  const float rib = under * clamped((hoop - 0.4F) * body.rib_gap / 4 * sharpness + 0.5F);
  const float x = p.x - body.spine.x, y = p.y - body.spine.y;
  const float apart = std::sqrt(x * x + y * y);
  const float column = clamped((body.spine_radius - apart) * sharpness + 0.5F);
  const float vertebra = clamped((zigzag(p.z + body.bone_shift, 24) + 0.6F) * 6 * sharpness + 0.5F);
  return std::max(rib, column * (0.3F + 0.7F * vertebra));
}

constexpr float air_density = -1000;

// HU without noise; `texture` has a deviation of about 1, `sharpness` is 1 / voxel size.
float density_at(const CohortBody& body, Place p, float texture, float sharpness) {
  const float depth = body.skin.depth(p);
  const float inside = clamped(depth * sharpness + 0.5F);
  if (inside == 0) return air_density;
  const auto cover = [&](const Blob& blob) { return clamped(blob.depth(p) * sharpness + 0.5F); };
  float value = blend(body.skin.density, body.tissue, clamped((depth - body.fat) * sharpness + 0.5F));
  for (const Blob& organ : body.organs) value = blend(value, organ.density, cover(organ));
  value = blend(value + 12 * texture, body.bone, bone_share(body, p, depth, sharpness));
  value = blend(value, body.lesion.density, cover(body.lesion));
  return blend(air_density, value, inside);
}

// A field of normal numbers 20 mm apart with straight lines between them, read along one row of z at a time.
class Texture {
 public:
  explicit Texture(Key key) : points_(edge * edge * edge) { fill_normal(key, points_); }

  void read_row(float x, float y, std::span<const float> heights, std::span<float> out) const {
    const auto [i, u] = cell_of(x);
    const auto [j, v] = cell_of(y);
    for (std::size_t at = 0; at < heights.size(); ++at) {
      const auto [k, w] = cell_of(heights[at]);
      const auto line = [&, i = i, j = j, k = k, w = w](std::size_t a, std::size_t b) {
        const float* point = points_.data() + ((i + a) * edge + j + b) * edge + k;
        return blend(point[0], point[1], w);
      };
      out[at] = blend(blend(line(0, 0), line(0, 1), v), blend(line(1, 0), line(1, 1), v), u);
    }
  }

 private:
  static constexpr std::size_t cells = 8, edge = cells + 1;
  struct Cell {
    std::size_t first;
    float rest;
  };
  static Cell cell_of(float millimetres) {
    constexpr auto view = static_cast<float>(cohort_field_of_view);
    const float place = (millimetres + view / 2) * static_cast<float>(cells) / view;
    const auto first = std::min(static_cast<std::size_t>(place), cells - 1);
    return {first, place - static_cast<float>(first)};
  }
  std::vector<float> points_;
};

// Middles of the voxels along an axis.
std::vector<float> voxel_places(double start, double millimetres, int64_t voxels) {
  std::vector<float> places;
  for (int64_t i = 0; i < voxels; ++i)
    places.push_back(static_cast<float>(start + millimetres * static_cast<double>(i)));
  return places;
}

std::string cohort_name(int64_t number, int64_t cases) {
  const std::size_t digits = std::max<std::size_t>(4, text(cases - 1).size());
  std::string word = text(number);
  if (word.size() < digits) word.insert(0, digits - word.size(), '0');
  return text(cohort_prefix, word);
}

}  // namespace

CohortPatient cohort_patient(uint64_t seed, int64_t number) {
  const auto standardised = [](double value, double least, double most) {
    return (value - (least + most) / 2) / ((most - least) / std::sqrt(12.0));
  };
  CohortPatient patient;
  const LesionDraw drawn = draw_lesion(seed, number);
  patient.diameter_mm = drawn.diameter_mm;
  patient.density_hu = drawn.density_hu;
  const Place centre = draw_body(seed, number).lesion.centre;
  patient.lesion_mm = {static_cast<double>(centre.x), static_cast<double>(centre.y),
                       static_cast<double>(centre.z)};
  patient.log_risk = weight_of_diameter * standardised(patient.diameter_mm, least_diameter, most_diameter) +
                     weight_of_density * standardised(patient.density_hu, least_density, most_density);

  // Logarithm and power differ from libm to libm in their last bit: whole days do not.
  CohortDice of_fate(seed, number, "cohort fate");
  const double hazards = -std::log(1 - of_fate.between(0, 1)) / std::numbers::ln2;
  const double event_day = std::ceil(
      first_event_day + median_days * std::pow(hazards * std::exp(-patient.log_risk), 1 / weibull_shape));
  patient.follow_up = std::ceil(of_fate.between(shortest_follow_up, end_of_study));
  patient.event = event_day <= patient.follow_up ? 1 : 0;
  patient.time = std::min(event_day, patient.follow_up);
  return patient;
}

Affine cohort_affine(const std::vector<int64_t>& size) { return centred_affine(size, cohort_field_of_view); }

Volume make_cohort_volume(uint64_t seed, int64_t number, const std::vector<int64_t>& size) {
  assert(size.size() == 3 && size[0] > 0 && size[1] > 0 && size[2] > 0);
  const auto key = [&](std::string_view purpose) {
    return make_key(seed, 0, static_cast<uint64_t>(number), purpose);
  };
  Volume volume{.voxels = {}, .affine = cohort_affine(size)};
  std::array<std::vector<float>, 3> places;
  double finest = cohort_field_of_view;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double millimetres = volume.affine[axis][axis];
    places[axis] = voxel_places(volume.affine[axis][3], millimetres, size[axis]);
    finest = std::min(finest, millimetres);
  }
  const auto& [rights, fronts, heights] = places;
  volume.voxels = at::empty({1, size[0], size[1], size[2]}, at::kFloat);
  const std::span<float> voxels(volume.voxels.data_ptr<float>(),
                                rights.size() * fronts.size() * heights.size());
  fill_normal(key("cohort noise"), voxels);

  const CohortBody body = draw_body(seed, number);
  const Texture texture(key("cohort texture"));
  // The finest axis decides how sharp borders are: thick slices must not blur what is sharp within them.
  const float sharpness = 1 / std::max(0.8F, static_cast<float>(finest));
  constexpr float noise = 20;  // HU
  std::vector<float> grain(heights.size());
  std::size_t at = 0;
  for (const float x : rights) {
    for (const float y : fronts) {
      texture.read_row(x, y, heights, grain);
      for (std::size_t k = 0; k < heights.size(); ++k, ++at)
        voxels[at] = density_at(body, {x, y, heights[k]}, grain[k], sharpness) + noise * voxels[at];
    }
  }
  return volume;
}

std::vector<ListedCase> cohort_cases(uint64_t seed, int64_t cases, const std::vector<int64_t>& size) {
  std::vector<std::string> sizes;
  for (const int64_t voxels : size) sizes.push_back(text(voxels));
  std::vector<ListedCase> listed;
  for (int64_t number = 0; number < cases; ++number) {
    const CohortPatient patient = cohort_patient(seed, number);
    const std::string name = cohort_name(number, cases);
    const std::string image = text(name, " (", join(sizes, " x "), ", seed ", seed, ")");
    listed.push_back(
        {.place = image,
         .files = {{"image", image}},
         .patient = name,
         .label = {},
         .split = {},
         .values = {{"time", patient.time}, {"event", patient.event}, {"truth", patient.log_risk}}});
  }
  return listed;
}

int64_t cohort_number(std::string_view name) {
  int64_t number = -1;
  if (name.starts_with(cohort_prefix)) {
    const std::string_view digits = name.substr(cohort_prefix.size());
    const char* const end = digits.data() + digits.size();
    const auto [rest, fault] = std::from_chars(digits.data(), end, number);
    if (fault != std::errc() || (rest != end && *rest != ' ')) number = -1;
  }
  if (number < 0)
    fail(Exit::data, text("'", name, "' is no patient of the invented cohort"),
         "their names are cohort-0000, cohort-0001, …");
  return number;
}

}  // namespace larmor::survival

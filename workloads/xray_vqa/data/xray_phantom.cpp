#include "workloads/xray_vqa/data/xray_phantom.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <ATen/ops/empty.h>

#include "larmor/base/seed.h"

namespace larmor::xray_vqa {
namespace {

constexpr int64_t cardiomegaly = 1, lesion = 6, effusion = 8, pneumothorax = 10, device = 12, nothing = 13;

struct Ellipse {
  float x = 0, y = 0, rx = 1, ry = 1;

  /// 0 in the middle, 1 on the edge.
  float reach(float px, float py) const {
    const float u = (px - x) / rx, v = (py - y) / ry;
    return std::sqrt(u * u + v * v);
  }
  Box box() const { return {x - rx, y - ry, x + rx, y + ry}; }
};

// The body of a study, whatever its findings.
struct Body {
  std::array<Ellipse, 2> lungs;  // right, left
  Ellipse heart;                 // as large as it should be
  float spine = 0.5F, rib_shift = 0, rib_gap = 0.09F;
};

Key key_of(uint64_t seed, int64_t number, std::string_view purpose) {
  return make_key(seed, 0, static_cast<uint64_t>(number), purpose);
}

float between(Draws& draws, double least, double most) {
  return static_cast<float>(least + (most - least) * draws.uniform());
}

Body draw_body(uint64_t seed, int64_t number) {
  Draws draws(key_of(seed, number, "xray body"));
  Body body;
  const float height = between(draws, 0.46, 0.5), drift = between(draws, -0.02, 0.02);
  for (std::size_t side = 0; side < 2; ++side) {
    const float middle = side == 0 ? 0.31F : 0.69F;
    body.lungs[side] = {middle + drift, height, between(draws, 0.15, 0.17), between(draws, 0.29, 0.33)};
  }
  body.heart = {0.54F + drift, height + 0.14F, between(draws, 0.105, 0.12), between(draws, 0.13, 0.145)};
  body.spine = 0.5F + drift;
  body.rib_shift = between(draws, 0, 1);
  body.rib_gap = between(draws, 0.085, 0.1);
  return body;
}

// What is drawn for a finding, besides its box.
struct Drawing {
  PhantomFinding finding;
  Ellipse spot = {};  // a lesion, or the heart as it is
  float level = 0;    // of an effusion's or a pneumothorax' border
};

Drawing draw_lung_finding(Draws& draws, const Body& body, PhantomRegion region, int64_t label) {
  const Ellipse& lung = body.lungs[static_cast<std::size_t>(region)];
  Drawing drawing{.finding = {.label = label, .region = region, .severity = 1}};
  drawing.finding.severity += static_cast<int64_t>(draws.below(3));
  const auto degree = static_cast<float>(drawing.finding.severity);
  const Box all = lung.box();
  if (label == lesion) {
    const float radius = 0.014F + 0.022F * degree;
    drawing.spot = {lung.x + between(draws, -0.05, 0.05), lung.y + between(draws, -0.18, -0.02), radius,
                    radius};
    drawing.finding.box = drawing.spot.box();
  } else if (label == effusion) {
    drawing.level = lung.y + lung.ry * (0.8F - 0.35F * degree);
    drawing.finding.box = {all.x1, drawing.level, all.x2, all.y2};
  } else {
    drawing.level = lung.y + lung.ry * (-0.95F + 0.32F * degree);
    drawing.finding.box = {all.x1, all.y1, all.x2, drawing.level};
  }
  return drawing;
}

std::vector<Drawing> draw_findings(uint64_t seed, int64_t number, const Body& body) {
  Draws draws(key_of(seed, number, "xray findings"));
  std::vector<Drawing> all;
  for (const auto region : {PhantomRegion::right_lung, PhantomRegion::left_lung}) {
    constexpr std::array<int64_t, 5> kinds = {nothing, nothing, lesion, effusion, pneumothorax};
    const int64_t kind = kinds[draws.below(kinds.size())];
    if (kind != nothing) all.push_back(draw_lung_finding(draws, body, region, kind));
  }
  if (draws.uniform() < 0.4) {
    Drawing drawing{.finding = {.label = cardiomegaly, .region = PhantomRegion::heart, .severity = 1},
                    .spot = body.heart};
    drawing.finding.severity += static_cast<int64_t>(draws.below(3));
    drawing.spot.rx *= 1.2F + 0.3F * static_cast<float>(drawing.finding.severity);
    drawing.finding.box = drawing.spot.box();
    all.push_back(drawing);
  }
  if (draws.uniform() < 0.5) {
    const auto side = draws.below(2) == 0 ? PhantomRegion::right_lung : PhantomRegion::left_lung;
    const float end = body.lungs[static_cast<std::size_t>(side)].x;
    all.push_back({.finding = {.label = device,
                               .region = side,
                               .severity = 0,
                               .box = {std::min(end, body.spine), 0.03F, std::max(end, body.spine), 0.36F}}});
  }
  return all;
}

float smooth(float share) { return std::clamp(share, 0.0F, 1.0F); }

float blend(float from, float to, float share) { return from + (to - from) * share; }

// Brightness without noise; `sharpness` is pixels to a width of 1.
class Canvas {
 public:
  Canvas(const Body& body, const std::vector<Drawing>& drawings, float sharpness)
      : body_(body), drawings_(drawings), sharpness_(sharpness) {}

  float at(float x, float y) const {
    const Ellipse trunk{body_.spine, 0.62F, 0.44F, 0.62F};
    float value = blend(0.04F, 0.5F, edge(trunk, x, y));
    for (std::size_t side = 0; side < 2; ++side) value = lung(side, x, y, value);
    const float bone = std::abs(x - body_.spine);
    value += 0.1F * smooth((0.025F - bone) * sharpness_);
    value = blend(value, 0.74F, edge(heart(), x, y));
    for (const Drawing& drawing : drawings_) {
      if (drawing.finding.label == device) value = blend(value, 1.0F, tube(drawing.finding.box, x, y));
    }
    return value;
  }

 private:
  float edge(const Ellipse& shape, float x, float y) const {
    return smooth((1 - shape.reach(x, y)) * std::min(shape.rx, shape.ry) * sharpness_ + 0.5F);
  }

  const Ellipse& heart() const {
    for (const Drawing& drawing : drawings_) {
      if (drawing.finding.label == cardiomegaly) return drawing.spot;
    }
    return body_.heart;
  }

  float lung(std::size_t side, float x, float y, float before) const {
    const Ellipse& shape = body_.lungs[side];
    const float cover = edge(shape, x, y);
    if (cover == 0) return before;
    const float phase = (y + 0.25F * std::abs(x - body_.spine)) / body_.rib_gap + body_.rib_shift;
    const float rib = std::abs(2 * (phase - std::floor(phase)) - 1);
    float value = 0.22F + 0.07F * smooth((rib - 0.6F) * 4);
    for (const Drawing& drawing : drawings_) {
      if (static_cast<std::size_t>(drawing.finding.region) != side) continue;
      const float below = (y - drawing.level) * sharpness_;
      if (drawing.finding.label == lesion) value = blend(value, 0.78F, edge(drawing.spot, x, y));
      if (drawing.finding.label == effusion) value = blend(value, 0.62F, smooth(below + 0.5F));
      if (drawing.finding.label == pneumothorax) {
        value = blend(value, 0.05F, smooth(0.5F - below));
        value = blend(value, 0.5F, smooth(1 - std::abs(below)));  // the pleura, a line
      }
    }
    return blend(before, value, cover);
  }

  // From the neck to the middle of a lung, straight.
  float tube(const Box& box, float x, float y) const {
    if (y < box.y1 || y > box.y2) return 0;
    const float share = (y - box.y1) / (box.y2 - box.y1);
    const bool to_the_left = box.x1 < body_.spine - 0.01F;
    const float at = to_the_left ? blend(box.x2, box.x1, share) : blend(box.x1, box.x2, share);
    return smooth((0.013F - std::abs(x - at)) * sharpness_ + 0.5F);
  }

  const Body& body_;
  const std::vector<Drawing>& drawings_;
  const float sharpness_;
};

Box inside(Box box) { return {smooth(box.x1), smooth(box.y1), smooth(box.x2), smooth(box.y2)}; }

}  // namespace

const PhantomFinding* PhantomTruth::find(int64_t label, PhantomRegion region) const {
  for (const PhantomFinding& finding : findings) {
    if (finding.label == label && finding.region == region) return &finding;
  }
  return nullptr;
}

int64_t PhantomTruth::count(int64_t label) const {
  return std::count_if(findings.begin(), findings.end(),
                       [&](const PhantomFinding& finding) { return finding.label == label; });
}

const std::array<int64_t, 5>& phantom_labels() {
  static const std::array<int64_t, 5> labels = {cardiomegaly, lesion, effusion, pneumothorax, device};
  return labels;
}

const Vocabularies& phantom_vocabularies() {
  static const Vocabularies lists = {
      NameList({"right lung", "left lung", "heart", "spine"}),
      NameList({"cardiomegaly", "lung lesion", "pleural effusion", "pneumothorax", "support devices"})};
  return lists;
}

PhantomTruth phantom_truth(uint64_t seed, int64_t number) {
  const Body body = draw_body(seed, number);
  PhantomTruth truth;
  for (const Drawing& drawing : draw_findings(seed, number, body)) {
    truth.findings.push_back(drawing.finding);
    truth.findings.back().box = inside(drawing.finding.box);
  }
  for (const int64_t label : phantom_labels())
    truth.labels[static_cast<std::size_t>(label)] = {truth.count(label) > 0 ? 1.0F : 0.0F, true};
  const bool healthy = truth.count(device) == static_cast<int64_t>(truth.findings.size());
  truth.labels[static_cast<std::size_t>(nothing)] = {healthy ? 1.0F : 0.0F, true};
  const Ellipse room_of_heart{body.heart.x, body.heart.y, 0.2F, 0.15F};
  const std::array<Box, 4> boxes = {body.lungs[0].box(), body.lungs[1].box(), room_of_heart.box(),
                                    Box{body.spine - 0.03F, 0.05F, body.spine + 0.03F, 0.95F}};
  for (std::size_t i = 0; i < boxes.size(); ++i)
    truth.anatomy.push_back({inside(boxes[i]), static_cast<int64_t>(i) + 1, 0});
  return truth;
}

at::Tensor make_xray(uint64_t seed, int64_t number, int64_t size) {
  const Body body = draw_body(seed, number);
  const auto drawings = draw_findings(seed, number, body);
  const auto pixels = static_cast<std::size_t>(size * size);
  at::Tensor image = at::empty({size, size});
  const std::span<float> values(image.mutable_data_ptr<float>(), pixels);
  fill_normal(key_of(seed, number, "xray noise"), values);
  const auto side = static_cast<float>(size);
  const Canvas canvas(body, drawings, side);
  constexpr float noise = 0.02F;
  for (std::size_t i = 0; i < pixels; ++i) {
    const auto column = static_cast<float>(i % static_cast<std::size_t>(size));
    const auto row = static_cast<float>(i / static_cast<std::size_t>(size));
    const float value = canvas.at((column + 0.5F) / side, (row + 0.5F) / side);
    values[i] = smooth(value + noise * values[i]);
  }
  return image;
}

}  // namespace larmor::xray_vqa

#include "workloads/xray_vqa/training/answered_example.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/draw/panel.h"
#include "larmor/transforms/planes.h"

#include "workloads/xray_vqa/data/sample.h"

namespace larmor::xray_vqa {
namespace {

constexpr std::size_t of_radiographs = 0, of_saliency = 1;  // of the panel's scales

Panel frame_of_examples() {
  return {.title = "Questions, answers, and what the answers go by",
          .scales = {{.title = "radiograph"},
                     {.title = "saliency (Grad-CAM)", .colours = PanelScale::Colours::heat}},
          .unit_of_length = "",
          .note =
              "Answers and saliency are of the picture and the question alone, as predict has them; "
              "\"with the scene\": of a network that has the study's boxes, regions and entities as well"};
}

/// [S, S] from black, 0, to white, 1.
at::Tensor grey_of(const at::Tensor& image) {
  at::Tensor grey = at::zeros({image.size(1), image.size(2)}, at::kFloat);
  for (int64_t colour = 0; colour < 3; ++colour) {
    const at::Tensor plane = image[colour].to(at::kCPU, at::kFloat);
    grey += (plane * imagenet_deviation[colour] + imagenet_mean[colour]) / 3;
  }
  return grey;
}

/// rows: [rows, columns]; the longer side of the picture has a length of one.
PanelPlane shaped_plane(const at::Tensor& rows, double shape) {
  PanelPlane plane = panel_plane(rows);
  plane.column_width = std::min(shape, 1.0) / plane.columns;
  plane.row_height = std::min(1 / shape, 1.0) / plane.rows;
  return plane;
}

std::string answer_text(const GivenAnswer& given, Head head, const Vocabularies& vocabularies) {
  return text(answer_name(head, given.answer, vocabularies), " (", fixed(given.probability, 2), ")");
}

}  // namespace

GivenAnswer given_by(const at::Tensor& logits) {
  const at::Tensor logs = at::log_softmax(logits.to(at::kCPU, at::kDouble), 0);
  const auto answer = logs.argmax().item<int64_t>();
  return {.answer = answer, .probability = logs[answer].exp().item<double>()};
}

VqaInputs one_row(const VqaInputs& inputs, int64_t row) {
  VqaInputs one = inputs;
  for (at::Tensor* tensor : {&one.image, &one.tokens, &one.tokens_mask, &one.boxes, &one.regions,
                             &one.entities, &one.objects_mask})
    *tensor = tensor->narrow(0, row, 1);
  return one;
}

void show_answered(const AnsweredExample& example, const Vocabularies& vocabularies, int64_t number,
                   Metrics& metrics) {
  const Caption caption = metrics.caption(number);
  const PanelPlane radiograph = shaped_plane(grey_of(example.image), caption.shape > 0 ? caption.shape : 1);
  const PanelOverlay overlay{.scale = of_saliency, .plane = panel_plane(example.saliency)};
  const bool is_right = example.given.answer == example.truth;
  PanelCase shown{
      .name = metrics.case_name(number),
      .images =
          {{.title = "radiograph", .scale = of_radiographs, .planes = {radiograph}},
           {.title = "saliency", .scale = of_radiographs, .planes = {radiograph}, .overlays = {overlay}}},
      .words = {text("Question (", head_names[static_cast<std::size_t>(example.head)], "): ", caption.words),
                text("Answer: ", answer_text(example.given, example.head, vocabularies)),
                text("Truth: ", answer_name(example.head, example.truth, vocabularies)),
                is_right ? "✓ right" : "✗ wrong"}};
  if (example.with_scene)
    shown.words.push_back(
        text("With the scene: ", answer_text(*example.with_scene, example.head, vocabularies)));
  metrics.show("examples", frame_of_examples(), std::move(shown));
}

}  // namespace larmor::xray_vqa

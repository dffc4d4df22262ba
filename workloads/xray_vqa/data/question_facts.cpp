#include "workloads/xray_vqa/data/question_facts.h"

#include <algorithm>
#include <span>
#include <sstream>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

at::Tensor number(int64_t value) { return at::full({}, value, at::kLong); }

void add_objects(const std::vector<SceneObject>& known, int64_t most, Sample& to) {
  const std::vector<SceneObject> whole_image(1);
  const auto& objects = known.empty() ? whole_image : known;
  const at::Tensor boxes = at::zeros({most, 4}), mask = at::zeros({most}, at::kBool);
  const at::Tensor regions = at::zeros({most}, at::kLong), entities = at::zeros({most}, at::kLong);
  const auto count = std::min(most, static_cast<int64_t>(objects.size()));
  for (int64_t i = 0; i < count; ++i) {
    const SceneObject& object = objects[static_cast<std::size_t>(i)];
    float* const corners = boxes.mutable_data_ptr<float>() + 4 * i;
    corners[0] = object.box.x1;
    corners[1] = object.box.y1;
    corners[2] = object.box.x2;
    corners[3] = object.box.y2;
    regions.mutable_data_ptr<int64_t>()[i] = object.region;
    entities.mutable_data_ptr<int64_t>()[i] = object.entity;
    mask.mutable_data_ptr<bool>()[i] = true;
  }
  to.emplace(sample::boxes, boxes);
  to.emplace(sample::regions, regions);
  to.emplace(sample::entities, entities);
  to.emplace(sample::objects_mask, mask);
}

void add_tokens(const std::string& question, int64_t length, const WordPiece& tokenizer, Sample& to) {
  const at::Tensor ids = at::empty({length}, at::kLong), mask = at::zeros({length}, at::kBool);
  const auto count = tokenizer.encode(
      question, std::span(ids.mutable_data_ptr<int64_t>(), static_cast<std::size_t>(length)));
  std::fill_n(mask.mutable_data_ptr<bool>(), count, true);
  to.emplace(sample::tokens, ids);
  to.emplace(sample::tokens_mask, mask);
}

void add_labels(const Labels& labels, Sample& to) {
  const at::Tensor values = at::zeros({chexpert_labels}), mask = at::zeros({chexpert_labels}, at::kBool);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    values.mutable_data_ptr<float>()[i] = labels[i].counts ? labels[i].value : 0;
    mask.mutable_data_ptr<bool>()[i] = labels[i].counts;
  }
  to.emplace(sample::labels, values);
  to.emplace(sample::labels_mask, mask);
}

}  // namespace

bool lies_inside(const Box& box) {
  return box.x1 >= 0 && box.y1 >= 0 && box.x2 <= 1 && box.y2 <= 1 && box.x1 < box.x2 && box.y1 < box.y2;
}

std::vector<SceneObject> objects_in_words(const std::string& words) {
  std::vector<SceneObject> objects;
  std::istringstream all(words);
  std::string one;
  while (std::getline(all, one, ';')) {
    std::istringstream numbers(one);
    SceneObject object;
    std::string rest;
    const bool is_box =
        static_cast<bool>(numbers >> object.box.x1 >> object.box.y1 >> object.box.x2 >> object.box.y2) &&
        !(numbers >> rest);
    if (!is_box || !lies_inside(object.box))
      fail(Exit::usage, text("boxes has `", one, "`, which is no box"),
           "say boxes=\"0.1 0.2 0.5 0.9; 0.4 0.1 0.9 0.9\": x1 y1 x2 y2 in [0, 1]");
    objects.push_back(object);
  }
  return objects;
}

Sample sample_of(const QuestionFacts& facts, const WordPiece& tokenizer, const SampleSizes& sizes) {
  Sample made;
  add_tokens(facts.question, sizes.question, tokenizer, made);
  add_objects(facts.objects, sizes.objects, made);
  add_labels(facts.labels, made);
  const QuestionType& type = question_types()[static_cast<std::size_t>(facts.type)];
  made.emplace(sample::type, number(facts.type));
  made.emplace(sample::head, number(static_cast<int64_t>(type.head)));
  made.emplace(sample::answer, number(type.head == Head::none ? -1 : facts.answer));
  made.emplace(sample::study, number(facts.study));
  return made;
}

at::Tensor image_of_grey(const at::Tensor& grey) {
  const int64_t pixels = grey.numel();
  at::Tensor image = at::empty({3, grey.size(0), grey.size(1)});
  const float* const from = grey.const_data_ptr<float>();
  for (std::size_t channel = 0; channel < 3; ++channel) {
    float* const to = image.mutable_data_ptr<float>() + static_cast<int64_t>(channel) * pixels;
    for (int64_t i = 0; i < pixels; ++i)
      to[i] = (from[i] - imagenet_mean[channel]) / imagenet_deviation[channel];
  }
  return image;
}

}  // namespace larmor::xray_vqa

#include "larmor/judge/prediction/ensemble.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

/// Weighs the columns of an image, so that left and right are not alike to it, and adds noise.
class Ramp final : public Task {
 public:
  explicit Ramp(double weight, double noise = 0) : weight_(weight), noise_(noise) {}
  std::vector<Objective> objectives() override { return {{"ramp", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}
  Prediction predict(const Batch& inputs, const PredictionContext& context) override {
    const at::Tensor image = inputs.at("image")[0];
    at::Tensor weights = at::ones_like(image);
    for (int64_t i = 0; i < image.size(1); ++i)
      weights.select(1, i).mul_(weight_ * static_cast<double>(i + 1));
    const at::Tensor drawn = noise_ * draw_normal_like(at::empty({1, 1}), "noise");
    Prediction prediction;
    prediction.volumes["out"] = context.on_grid_of("image", image * weights + drawn.item<double>());
    prediction.numbers = {{"sum", (image * weights).sum().item<double>()}};
    return prediction;
  }

 private:
  double weight_, noise_;
  torch::nn::Linear network_{torch::nn::LinearOptions(4, 2)};
};

std::unique_ptr<Ensemble> together(const std::vector<double>& weights, bool mirrored = false,
                                   double noise = 0) {
  std::vector<std::unique_ptr<Task>> members;
  for (const double weight : weights) members.push_back(std::make_unique<Ramp>(weight, noise));
  return std::make_unique<Ensemble>(std::move(members), TakenTogether{.mirrored = mirrored});
}

/// Columns run to the left by 2 mm.
Affine to_the_left() {
  Affine affine = identity_affine();
  affine[0][0] = -2;
  affine[0][3] = 6;
  return affine;
}

Batch batch_of(const at::Tensor& voxels) {
  return {.tensors = {{"image", voxels.unsqueeze(0)}}, .keys = {{.seed = 1, .epoch = 0, .example = 0}}};
}

PredictionContext context_of(const at::Tensor& voxels) {
  PredictionContext context;
  context.grids["image"] = {.of_file = to_the_left(),
                            .prepared = to_the_left(),
                            .size_of_file = {voxels.size(1), voxels.size(2), voxels.size(3)}};
  return context;
}

at::Tensor predicted(Task& task, const at::Tensor& voxels) {
  const auto inputs = batch_of(voxels);
  const DrawScope draws(DrawPosition{.seed = 9, .epochs = {9}, .examples = {9}});
  return task.predict(inputs, context_of(voxels)).volumes.at("out").voxels;
}

at::Tensor image() { return at::arange(4 * 3 * 2, at::kFloat).square().reshape({1, 4, 3, 2}); }

TEST(Ensemble, OfOneNetworkTwiceIsThatNetworkToTheBit) {
  EXPECT_TRUE(predicted(*together({0.3, 0.3}, false, 1), image())
                  .equal(predicted(*together({0.3}, false, 1), image())))
      << "with what it draws";
}

TEST(Ensemble, IsTheMeanOfItsMembers) {
  const auto mean = predicted(*together({1, 2, 6}), image());
  EXPECT_TRUE(at::allclose(mean, predicted(*together({3}), image())));
}

TEST(Ensemble, OfMirroredImagesPredictsTheMirrorOfWhatItPredicts) {
  const auto task = together({0.5}, /*mirrored=*/true);
  const at::Tensor plain = predicted(*task, image()), mirrored = predicted(*task, image().flip(1));
  EXPECT_TRUE(at::allclose(mirrored, plain.flip(1), 1e-5, 1e-4));
  EXPECT_FALSE(at::allclose(predicted(*together({0.5}), image().flip(1)),
                            predicted(*together({0.5}), image()).flip(1)))
      << "alone it does not";
  EXPECT_TRUE(at::allclose(plain, image() * 0.5 * 2.5, 1e-5, 1e-4)) << "the mean of a ramp and its mirror";
}

TEST(Ensemble, MirrorsTheAxisAlongWhichTheSidesLie) {
  EXPECT_EQ(axis_of_sides(to_the_left()), 0);
  Affine turned{};
  turned[1][0] = 1;
  turned[2][1] = 5;
  turned[0][2] = -1;
  turned[3][3] = 1;
  EXPECT_EQ(axis_of_sides(turned), 2);
}

Prediction said(const std::string& answer, std::vector<std::pair<std::string, double>> chances) {
  double most = 0;
  for (const auto& [name, chance] : chances) most = std::max(most, chance);
  return {.numbers = {{"probability", most}, {"risk", most}},
          .words = {{"answer", answer}, {"head", "binary"}},
          .chances = std::move(chances)};
}

// The one that is sure outvotes the other.
TEST(MeanOfPredictions, IsTheLikeliestAnswerByTheMeanOfTheChances) {
  const auto mean =
      mean_of({said("no", {{"no", 0.6}, {"yes", 0.4}}), said("yes", {{"no", 0.1}, {"yes", 0.9}})});
  EXPECT_THAT(mean.words, ElementsAre(Pair("answer", "yes"), Pair("head", "binary")));
  EXPECT_THAT(mean.numbers, ElementsAre(Pair("probability", 0.65), Pair("risk", 0.75)));
}

// A mean of classes would be a class that nobody has predicted.
TEST(MeanOfPredictions, IsWhatMostLabelMapsSay) {
  const auto map = [](std::initializer_list<int64_t> classes) {
    return Prediction{.volumes = {{"label", {at::tensor(classes).to(at::kByte).view({1, 1, 1, 4})}}}};
  };
  const auto voted = mean_of({map({0, 1, 3, 0}), map({0, 3, 1, 2}), map({2, 3, 3, 1})}).volumes.at("label");
  EXPECT_EQ(voted.voxels.scalar_type(), at::kByte);
  EXPECT_TRUE(voted.voxels.flatten().equal(at::tensor({0, 3, 3, 0}).to(at::kByte)))
      << voted.voxels << ": of classes with as many votes the lowest";
}

TEST(MeanOfPredictions, LacksWhatOneOfThemCannotGive) {
  Prediction less = said("no", {});
  less.numbers = {{"probability", 0.5}};
  less.missing = {{"Edema", "no training example has this label"}};
  const auto mean = mean_of({said("no", {}), less});
  EXPECT_THAT(mean.numbers, ElementsAre(Pair("probability", 0.25)));
  EXPECT_THAT(mean.missing,
              ElementsAre(Pair("Edema", HasSubstr("no training")), Pair("risk", HasSubstr("not all"))));
}

TEST(WhyApart, SaysWhatTwoFormsDoNotShare) {
  PredictionForm one{.inputs = {{.name = "image"}}, .volumes = {"out"}};
  EXPECT_EQ(why_apart(one, one), "");
  PredictionForm other = one;
  other.transforms = Json::array({"ScaleIntensity"});
  EXPECT_THAT(why_apart(one, other), HasSubstr("data.transforms"));
  other = one;
  other.inputs[0].name = "t1";
  EXPECT_THAT(why_apart(one, other), HasSubstr("takes t1, and the first one takes image"));
}

TEST(BytesOfWeights, AreOfAllMembers) {
  EXPECT_EQ(bytes_of_weights(*together({1, 2})), 2U * (4 * 2 + 2) * 4);
}

}  // namespace
}  // namespace larmor::testing

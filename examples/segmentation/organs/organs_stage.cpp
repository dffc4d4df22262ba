#include "organs/organs_stage.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/seed.h"
#include "larmor/transforms/mask_name.h"

namespace larmor::segmentation {

namespace {

/// Volumes that the program invents, so that there is something to segment without data: balls (class 1) and
/// cubes (class 2) in noise. One is as bright as the other, and only the shape tells them apart.
MakeVolumes bodies_of(const DataConfig& data) {
  return [seed = static_cast<uint64_t>(data.phantom_seed), size = data.phantom_size](
             const Case&, int64_t number) -> Volumes {
    constexpr int bodies = 4;
    constexpr double least = 3, growth = 2, noise = 0.2;
    Draws draws(make_key(seed, 0, static_cast<uint64_t>(number), "bodies"));
    at::Tensor label = at::zeros({1, size[0], size[1], size[2]});
    for (int body = 0; body < bodies; ++body) {
      const double radius = least + growth * draws.uniform();
      at::Tensor squares = at::zeros({}), most = at::zeros({});
      for (int64_t axis = 0; axis < 3; ++axis) {
        const auto length = static_cast<double>(size[static_cast<std::size_t>(axis)]);
        const double centre = radius + (length - 1 - 2 * radius) * draws.uniform();
        std::vector<int64_t> shape{1, 1, 1, 1};
        shape[static_cast<std::size_t>(axis) + 1] = static_cast<int64_t>(length);
        const at::Tensor distance =
            (at::arange(static_cast<int64_t>(length), at::kFloat) - centre).abs().view(shape);
        squares = squares + distance.square();
        most = at::maximum(most, distance);
      }
      const bool is_ball = body % 2 == 0;
      label.masked_fill_(is_ball ? squares.le(radius * radius) : most.le(radius - 1), is_ball ? 1 : 2);
    }
    at::Tensor image = at::empty_like(label);
    fill_normal(make_key(seed, 0, static_cast<uint64_t>(number), "noise"),
                {image.mutable_data_ptr<float>(), static_cast<std::size_t>(image.numel())});
    image.mul_(noise).add_(label.gt(0));
    return {{"image", {image}}, {std::string(label_as_mask), {label}}};
  };
}

}  // namespace

WorkloadFields OrgansStage::fields() {
  return {.model =
              [this](Fields& f) {
                f.field("classes", config_.classes, "names of the classes of the label map, from 1 on");
                f.field("in_channels", config_.in_channels, "channels of an image", at_least_one);
                f.field("features", config_.features,
                        "channels of each resolution from the finest on, and those before the last "
                        "convolution; MONAI's BasicUNet has six numbers",
                        at_least_one);
              },
          .loss =
              [this](Fields& f) {
                f.field("lambda_dice", config_.loss.lambda_dice, "weight of the Dice loss", at_least_zero);
                f.field("lambda_ce", config_.loss.lambda_ce, "weight of the cross entropy", at_least_zero);
                f.field("include_background", config_.loss.dice.include_background,
                        "whether the Dice loss counts the background as a class");
              },
          .validation = [this](Fields& f) { validation_.describe(f); },
          .objectives = {}};
}

ImageForm OrgansStage::form() const {
  require(!config_.classes.empty(), Exit::usage, "model.classes names no class",
          "name the classes of the label map, the first of them is 1: model.classes=[liver, tumour]");
  const bool are_even = std::ranges::all_of(config_.features, [](int64_t n) { return n % 2 == 0; });
  require(config_.features.size() >= 3 && are_even, Exit::usage,
          "model.features has to be three even numbers or more", "say model.features=[16, 32, 64, 16]");
  return {.channels = {.count = config_.in_channels, .keys = {"model.in_channels"}},
          .divisor = BasicUnet::size_divisor(config_.features),
          .validation = validation_,
          .sample = {.label_classes = std::ssize(config_.classes) + 1},
          .volumes = [](const DataConfig& data) { return MadeVolumes{.make = bodies_of(data)}; },
          .batches = {.micro_batch = 2},
          .judge = [](Task& task,
                      const at::Tensor& images) { dynamic_cast<OrgansTask&>(task).logits_of(images); },
          .output = "label"};
}

std::unique_ptr<Task> OrgansStage::make_task(const RunConfig&, const Index&,
                                             const TaskSetting& setting) const {
  return std::make_unique<OrgansTask>(config_, setting);
}

}  // namespace larmor::segmentation

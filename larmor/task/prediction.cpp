#include "larmor/task/prediction.h"

#include <algorithm>

#include <ATen/core/TensorBody.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/task/task.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/resample_like.h"

namespace larmor {

namespace {

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// As the transforms see them.
std::vector<std::string> volumes_of(const PredictionForm& form) {
  std::vector<std::string> names;
  if (!form.channels.empty()) names.emplace_back("image");
  for (const auto& input : form.inputs) {
    if (input.kind == PredictionInput::Kind::image && !is_among(form.channels, input.name))
      names.push_back(input.name);
  }
  return names;
}

}  // namespace

std::string steps_without_input(const PredictionForm& form) {
  const auto names = volumes_of(form);
  std::vector<std::string> steps;
  for (const auto& [step, keys] : keys_of_steps(form.transforms)) {
    const bool finds_one =
        std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return is_among(names, key); });
    const bool wants_image = std::any_of(keys.begin(), keys.end(), [](const auto& key) {
      return key == "image" || key.starts_with("image_");
    });
    if (!finds_one && wants_image) steps.push_back(text(step, " (", join(keys, ", "), ")"));
  }
  if (steps.empty()) return {};
  return text("data.transforms: left out, since their keys name none of the volumes of a prediction (",
              names.empty() ? "none" : join(names, ", "), "): ", join(steps, ", "));
}

Volume PredictionContext::on_grid_of(std::string_view input, const at::Tensor& voxels) const {
  const auto found = grids.find(input);
  ensure(found != grids.end());  // the task asks for an input that it was given
  const auto& [of_file, prepared, size_of_file] = found->second;
  const at::ScalarType type = voxels.scalar_type();
  const bool is_label_map = at::isIntegralType(type, /*includeBool=*/true);
  Volume result{.voxels = voxels.to(at::kCPU, at::kFloat).contiguous(), .affine = prepared};
  const bool is_there =
      prepared == of_file && result.voxels.sizes().slice(1) == at::IntArrayRef(size_of_file);
  if (!is_there) {
    result = resample_like(result, of_file, size_of_file,
                           is_label_map ? Interpolation::nearest : Interpolation::trilinear);
  }
  if (is_label_map) result.voxels = result.voxels.to(type);
  return result;
}

Prediction Task::predict(const Batch&, const PredictionContext&) {
  fail(Exit::usage, "this stage predicts nothing", "predict with another stage of the workload");
}

}  // namespace larmor

#include "larmor/judge/prediction/predictor.h"

#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/data/image_pair.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/layout.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"
#include "larmor/transforms/common_grid.h"
#include "larmor/transforms/reading_steps.h"

namespace larmor {

Predictor::Predictor(Task& task, PredictionForm form, PredictorOptions options)
    : task_(task),
      form_(std::move(form)),
      options_(std::move(options)),
      chain_(form_.transforms),
      channels_(form_.channels, options_.resamples),
      reads_grey_(picture_reading(form_.transforms).grey) {}

Volumes Predictor::read(const PredictionCase& one) const {
  if (!one.fault.empty())
    fail(Exit::data, text(one.label, ' ', one.fault), "complete the case, and predict it again");
  const PictureReading reading{.grey = reads_grey_, .size = {}};
  Volumes files;
  const std::string* only_file = nullptr;
  for (const auto& input : form_.inputs) {
    const auto given = one.inputs.find(input.name);
    if (input.kind != PredictionInput::Kind::image || given == one.inputs.end()) continue;
    Volume image = read_volume(given->second, reading);
    std::vector<at::Tensor> channels{image.voxels};
    if (const auto further = one.further.find(input.name); further != one.further.end()) {
      for (const std::string& file : further->second)
        channels.push_back(on_grid_of(image, given->second, read_volume(file, reading), file,
                                      {.resamples = options_.resamples})
                               .voxels);
    }
    if (channels.size() > 1) image.voxels = at::cat(channels);
    only_file = files.empty() && channels.size() == 1 ? &given->second : nullptr;
    files.emplace(input.name, std::move(image));
  }
  if (only_file != nullptr && !form_.pairs_are_images && holds_a_pair(*only_file, files.begin()->second))
    files.begin()->second = apart(std::move(files.begin()->second)).image;
  return files;
}

Prediction Predictor::predict(const PredictionCase& one, const Volumes& files,
                              const std::function<bool(double)>& fits_in_one_pass) const try {
  const at::NoGradGuard no_grad;
  PredictionContext context{.seed = options_.seed,
                            .number = one.number,
                            .device = options_.device,
                            .type = weight_type(options_.precision),
                            .pictures = form_.pictures,
                            .fits_in_one_pass = fits_in_one_pass,
                            .progress = options_.progress};
  for (const auto& input : form_.inputs) {
    const auto given = one.inputs.find(input.name);
    if (input.kind == PredictionInput::Kind::image || given == one.inputs.end()) continue;
    const bool is_file = input.kind == PredictionInput::Kind::file;
    context.texts.emplace(input.name, is_file ? read_text(given->second) : given->second);
  }
  Batch batch{.tensors = {}, .keys = {{.seed = options_.seed, .epoch = one.sample, .example = one.number}}};
  Volumes prepared;  // where nothing is given, the task says what has to be
  if (!files.empty()) prepared = channels_.apart(chain_.deterministic_part(channels_.joined(files)), files);
  for (const auto& [name, ready] : prepared) {
    const Volume& file = files.find(name)->second;
    context.grids[name] = {.of_file = file.affine,
                           .prepared = ready.affine,
                           .size_of_file = {file.voxels.size(1), file.voxels.size(2), file.voxels.size(3)}};
    batch.tensors.emplace(name, ready.voxels.unsqueeze(0));
  }
  const DrawScope draws(draw_position_of(batch));
  const LayoutScope layout(options_.layout);
  auto prediction = task_.predict(to_device(std::move(batch), options_.device, options_.precision), context);
  for (auto& [name, volume] : prediction.volumes) {
    if (!at::isIntegralType(volume.voxels.scalar_type(), /*includeBool=*/true))
      volume.voxels = volume.voxels.to(at::kFloat);
  }
  for (const auto& name : form_.volumes) ensure(prediction.volumes.contains(name));
  ensure(prediction.volumes.size() == form_.volumes.size());  // the form says what comes out
  for (const auto& name : form_.pictures) ensure(prediction.pictures.contains(name));
  return prediction;
} catch (const Error& error) {
  throw error.within(one.label);
}

}  // namespace larmor

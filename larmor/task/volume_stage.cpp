#include "larmor/task/volume_stage.h"

#include <filesystem>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/transforms/declared_chain.h"

namespace larmor {

LeastSize least_for_ssim(int64_t window) {
  return {.voxels = window,
          .why = text("SSIM, by which it is judged, looks at ", window, " at once"),
          .instead = {},
          .in_training = false};
}

void check_least(const Sample& sample, const LeastSize& least) {
  for (const auto size : sample.at("image").sizes().slice(1)) {
    if (size >= least.voxels) continue;
    fail(Exit::data, text("has ", size, " voxels along an axis, and ", least.why),
         text("leave it out with data.exclude, or ",
              least.instead.empty() ? "take larger images" : least.instead));
  }
}

void check_crop(int64_t size, int64_t divisor) {
  if (size % divisor == 0) return;
  const auto smaller = size / divisor * divisor;
  fail(Exit::usage,
       text("data.transforms leaves ", size, " voxels along an axis, and this network needs a multiple of ",
            divisor),
       text("crop ", smaller > 0 ? text(smaller, " or ") : "", smaller + divisor));
}

void check_sizes(const Sample& sample, int64_t divisor) {
  for (const auto size : sample.at("image").sizes().slice(1)) {
    if (size % divisor == 0) continue;
    fail(Exit::data,
         text("has ", size, " voxels along an axis, and this network needs a multiple of ", divisor),
         "bring all images to one size with a crop or a pad in data.transforms");
  }
}

void check_weights(const std::string& weights, const std::string& key) {
  if (weights.empty()) return;
  if (!std::filesystem::exists(weights))
    fail(Exit::usage, text("there is no file ", weights), text("check ", key));
  read_published_weights(weights);
}

void check_windows(const ValidationConfig& validation, int64_t divisor) {
  if (validation.overlap >= 1)
    fail(Exit::usage, text("validation.overlap is ", validation.overlap, ", and such windows never move on"),
         "choose 0 or more, below 1; 0.25 is usual");
  if (!validation.of_whole_cases()) return;
  constexpr std::size_t axes = 3;
  if (validation.roi_size.size() != axes)
    fail(Exit::usage,
         text("validation.roi_size has ", validation.roi_size.size(), " numbers, and volumes have ", axes,
              " axes"),
         "give voxels for each axis, such as [96, 96, 96]; [] judges crops");
  for (const auto size : validation.roi_size) {
    if (size % divisor == 0) continue;
    const auto smaller = size / divisor * divisor;
    fail(Exit::usage,
         text("validation.roi_size says ", size, " voxels, and this network needs a multiple of ", divisor),
         text("say ", smaller > 0 ? text(smaller, " or ") : "", smaller + divisor));
  }
}

std::unique_ptr<Dataset> volume_dataset(const RunConfig& config, const Index& index, Split split,
                                        const SampleForm& form, const MakeVolumes& make) {
  const auto& declared = config.data.transforms;
  const Json chain = split == Split::train ? training_chain(declared) : validation_chain(declared);
  return make_volume_dataset(config.data, index, split, chain, form, make);
}

}  // namespace larmor

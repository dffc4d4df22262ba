#include "larmor/train/volume_stage.h"

#include <filesystem>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

int64_t check_chains(const RunConfig& config) {
  const TransformChain training(training_chain(config.data.transforms));
  const TransformChain validation(validation_chain(config.data.transforms));
  return training.samples_per_volume();
}

void check_channels(const Sample& sample, int64_t channels, const std::string& key) {
  const auto image = sample.find("image");
  if (image == sample.end()) fail(Exit::data, "the case has no image", "check data.list, or data.modalities");
  const int64_t present = image->second.size(0);
  if (present == channels) return;
  fail(Exit::data, text("the image has ", present, " channels, and the network takes ", channels),
       text("say ", key, "=", present));
}

void check_first(const Sample& first, int64_t channels, const std::string& key, const std::string& weights) {
  check_channels(first, channels, key);
  check_weights(weights);
}

void check_weights(const std::string& weights) {
  if (weights.empty() || std::filesystem::is_regular_file(weights)) return;
  fail(Exit::usage, text("there is no file ", weights), "check model.weights");
}

std::unique_ptr<Dataset> volume_dataset(const RunConfig& config, const Index& index, Split split,
                                        const SampleForm& form, const MakeImage& make) {
  const auto& declared = config.data.transforms;
  const Json chain = split == Split::train ? training_chain(declared) : validation_chain(declared);
  return make_volume_dataset(config.data, index, split, chain, form, make);
}

}  // namespace larmor

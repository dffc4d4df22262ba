// What stages of images share. A stage says its form, once, and makes its task: its demand, its data, its
// reference cases, its checks and a prediction of one image follow. Whoever needs more overrides that
// function of Stage and calls this one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "larmor/data/make_volumes.h"
#include "larmor/data/sample_form.h"
#include "larmor/task/stage.h"
#include "larmor/task/volume_stage.h"
#include "larmor/transforms/extent.h"

namespace larmor {

struct ImageChannels {
  int64_t count = 1;  // as the network takes an image
  /// The keys of the config that say so, if any.
  std::vector<std::string> keys = {};
  /// Those of the label come behind the image's, where the image has not all of them.
  bool with_label = false;
};

/// What the planner cannot count of a batch.
struct BatchWishes {
  int64_t micro_batch = 1;     // when nothing else decides
  int64_t fewest_in_step = 1;  // examples of a global batch that the loss compares with each other
  bool batch_norm = false;     // needs accumulation 1
  /// Examples that dataset() makes of one where the stage overrides it.
  int64_t examples_of_one = 1;
};

/// Training cases as validation sees them.
struct ReferenceCases {
  int64_t count = 0;  // evenly spread; 0: all
  bool when_quick = false;
};

/// Volumes that the program makes.
struct MadeVolumes {
  Extent extent = {};     // of each; that of phantoms where it is empty
  MakeVolumes make = {};  // phantoms where it is empty
};

struct ImageForm {
  ImageChannels channels = {};
  int64_t divisor = 1;  // each axis of what the network sees is a multiple of so many voxels
  std::vector<LeastSize> least_sizes = {};
  /// Files of weights to start from, by the keys that name them; an empty name is none.
  std::vector<std::pair<std::string, std::string>> weights = {};
  ValidationConfig validation = {};  // whole cases in windows; without them crops
  SampleForm sample = {};
  std::function<MadeVolumes(const DataConfig&)> volumes = {};
  BatchWishes batches = {};
  /// What judging images [1, C, D, H, W] of whole cases holds in memory, by the task on the meta device.
  std::function<void(Task&, const at::Tensor& images)> judge = {};
  std::optional<ReferenceCases> reference = {};
  std::string output = {};  // the volume that comes out of `predict`; empty: numbers and words alone
  bool predicts_by_average = false;
};

/// What a task is made with beside the stage's own config.
struct TaskSetting {
  uint64_t seed = 0;
  std::vector<int64_t> window;       // voxels an axis of a training example
  c10::Device device{c10::kCPU};     // on c10::kMeta the task is there to be counted
  ValidationConfig validation = {};  // that of the form
};

class ImageStage : public Stage {
 public:
  void check(const RunConfig& config) const override;
  void check_start(const Sample& first) const override;
  void check_example(const Sample& example, Split split) const override;
  bool invents_data(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index,
                                     ValidationDepth depth) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// One image in, the form's output out.
  PredictionForm prediction(const RunConfig& config) const override;
  bool predicts_by_average() const override { return form().predicts_by_average; }

 protected:
  /// What is known of the images, from the stage's own config, and the same at every call. Throws Error
  /// (usage) where keys of it cannot go together. Asked for with every example.
  virtual ImageForm form() const = 0;
  /// `index` is empty where the task is counted, and where there is no run.
  virtual std::unique_ptr<Task> make_task(const RunConfig& config, const Index& index,
                                          const TaskSetting& setting) const = 0;
};

}  // namespace larmor

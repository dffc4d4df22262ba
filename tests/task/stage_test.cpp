// What a stage does unless it says otherwise.
#include "larmor/task/stage.h"

#include <memory>
#include <string>
#include <vector>

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/data/dataset_around.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A stage around a dataset that adds a target to each of its samples.
class Targeted final : public Stage {
 public:
  WorkloadFields fields() override { return {}; }
  void check(const RunConfig&) const override {}
  Demand demand(const RunConfig&, const Index&) const override { return {}; }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override { return nullptr; }
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override {
    class WithTarget final : public DatasetAround {
     public:
      using DatasetAround::DatasetAround;
      Sample get(const ExampleKey& key) const override {
        Sample sample = DatasetAround::get(key);
        sample["target"] = sample.at("image").mean();
        return sample;
      }
    };
    return std::make_unique<WithTarget>(make_volume_dataset(config.data, index, split, Json::array()));
  }
  PredictionForm prediction(const RunConfig&) const override { return {}; }
};

class StagePreparation : public ::testing::Test {
 protected:
  StagePreparation() {
    for (const char* const name : {"a", "b", "c", "d"}) {
      write_nifti(storage_, folder_.path() / (std::string(name) + ".nii"),
                  {.voxels = at::full({1, 4, 4, 4}, 2.0, at::kFloat)});
    }
    config_.data.folder = folder_.path().string();
    config_.data.cache_folder = store_.path().string();
  }
  PrepareContext prepare() {
    PrepareContext context{.storage = storage_, .cores = 2};
    const Index index = make_index(config_.data, 1);
    Targeted().prepare(config_, index, context);
    return context;
  }

  DiskStorage storage_;
  ScratchFolder folder_, store_;
  RunConfig config_;
};

TEST_F(StagePreparation, FillsThePreparedCacheWhateverIsAroundTheVolumes) {
  const auto context = prepare();
  EXPECT_TRUE(context.bad.empty());
  EXPECT_EQ(context.outputs.at("cache").at("folder"), store_.path().string());
  EXPECT_GT(context.outputs.at("cache").at("bytes").get<uint64_t>(), 0U);
  EXPECT_THAT(context.lines, ElementsAre(HasSubstr("; training maps it with data.cache=full")));
}

TEST_F(StagePreparation, NamesTheFilesThatCannotBeUsed) {
  write_text(storage_, folder_.path() / "bad.nii", "no image");
  const auto context = prepare();
  ASSERT_EQ(context.bad.size(), 1U);
  EXPECT_EQ(context.bad.front().path, "bad.nii");
}

TEST_F(StagePreparation, LooksAtTheFilesWhereNothingCanBePrepared) {
  config_.data = {};
  config_.data.kind = "phantom";
  config_.data.phantom_cases = 3;
  config_.data.phantom_size = {4, 4, 4};
  const auto context = prepare();
  EXPECT_TRUE(context.outputs.empty());
  EXPECT_TRUE(context.lines.empty());
}

}  // namespace
}  // namespace larmor

#include "larmor/judge/checked_dataset.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/data/dataset_around.h"

namespace larmor {

namespace {

class CheckedDataset final : public DatasetAround {
 public:
  CheckedDataset(std::unique_ptr<Dataset> inner, const Stage& stage, Split split)
      : DatasetAround(std::move(inner)), stage_(stage), split_(split) {}

  Sample get(const ExampleKey& key) const override {
    Sample sample = DatasetAround::get(key);
    try {
      stage_.check_example(sample, split_);
    } catch (const Error& error) {
      throw error.within(name(key.example));
    }
    return sample;
  }

 private:
  const Stage& stage_;
  const Split split_;
};

}  // namespace

std::unique_ptr<Dataset> checked_dataset(const Stage& stage, const RunConfig& config, const Index& index,
                                         Split split) {
  return std::make_unique<CheckedDataset>(stage.dataset(config, index, split), stage, split);
}

}  // namespace larmor

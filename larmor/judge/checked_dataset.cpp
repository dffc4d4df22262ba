#include "larmor/judge/checked_dataset.h"

#include <utility>

#include "larmor/base/error.h"

namespace larmor {

namespace {

class CheckedDataset final : public Dataset {
 public:
  CheckedDataset(std::unique_ptr<Dataset> inner, const Stage& stage, Split split)
      : inner_(std::move(inner)), stage_(stage), split_(split) {}

  int64_t size() const override { return inner_->size(); }
  int64_t examples_per_case() const override { return inner_->examples_per_case(); }
  std::string name(int64_t example) const override { return inner_->name(example); }
  std::string patient(int64_t example) const override { return inner_->patient(example); }
  std::optional<Affine> grid(int64_t example) const override { return inner_->grid(example); }
  Caption caption(int64_t example) const override { return inner_->caption(example); }
  std::vector<int64_t> shown(int64_t stride) const override { return inner_->shown(stride); }
  std::string content_hash(int64_t example) const override { return inner_->content_hash(example); }
  const PreparableDataset* preparable() const override { return inner_->preparable(); }
  Sample get(const ExampleKey& key) const override {
    Sample sample = inner_->get(key);
    try {
      stage_.check_example(sample, split_);
    } catch (const Error& error) {
      throw error.within(name(key.example));
    }
    return sample;
  }

 private:
  std::unique_ptr<Dataset> inner_;
  const Stage& stage_;
  const Split split_;
};

}  // namespace

std::unique_ptr<Dataset> checked_dataset(const Stage& stage, const RunConfig& config, const Index& index,
                                         Split split) {
  return std::make_unique<CheckedDataset>(stage.dataset(config, index, split), stage, split);
}

}  // namespace larmor

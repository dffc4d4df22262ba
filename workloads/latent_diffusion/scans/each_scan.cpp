#include "workloads/latent_diffusion/scans/each_scan.h"

#include <string>
#include <utility>

#include "larmor/base/error.h"

namespace larmor::latent_diffusion {
namespace {

constexpr int64_t scans_of_a_pair = 2;

class EachScan final : public Dataset {
 public:
  explicit EachScan(std::unique_ptr<Dataset> pairs) : pairs_(std::move(pairs)) {}

  int64_t size() const override { return scans_of_a_pair * pairs_->size(); }
  int64_t examples_per_case() const override { return scans_of_a_pair * pairs_->examples_per_case(); }
  std::string name(int64_t example) const override { return pairs_->name(example / scans_of_a_pair); }
  std::string patient(int64_t example) const override { return pairs_->patient(example / scans_of_a_pair); }
  std::optional<Affine> grid(int64_t example) const override {
    return pairs_->grid(example / scans_of_a_pair);
  }
  std::string content_hash(int64_t example) const override {
    return pairs_->content_hash(example / scans_of_a_pair);
  }
  const PreparableDataset* preparable() const override { return pairs_->preparable(); }

  Sample get(const ExampleKey& key) const override {
    ExampleKey of_pair = key;
    of_pair.example = key.example / scans_of_a_pair;
    Sample sample = pairs_->get(of_pair);
    const auto label = sample.find("label");
    if (label == sample.end())
      fail(Exit::data, "has no label, and data.scans=both learns both scans of a pair",
           "give pairs (data.kind=npz, or a list with the columns image and label), or data.scans=image");
    if (key.example % scans_of_a_pair == 1) sample["image"] = label->second;
    sample.erase(label);
    return sample;
  }

 private:
  const std::unique_ptr<Dataset> pairs_;
};

}  // namespace

std::unique_ptr<Dataset> each_scan(std::unique_ptr<Dataset> pairs) {
  return std::make_unique<EachScan>(std::move(pairs));
}

}  // namespace larmor::latent_diffusion

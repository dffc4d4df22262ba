#include "workloads/latent_diffusion/scans/each_scan.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/data/dataset_around.h"

namespace larmor::latent_diffusion {
namespace {

constexpr int64_t scans_of_a_pair = 2;

class EachScan final : public ExamplesOf {
 public:
  using ExamplesOf::ExamplesOf;

  int64_t size() const override { return scans_of_a_pair * inner().size(); }
  int64_t examples_per_case() const override { return scans_of_a_pair * inner().examples_per_case(); }
  const PreparableDataset* preparable() const override { return inner().preparable(); }
  Caption caption(int64_t example) const override {
    Caption caption = ExamplesOf::caption(example);
    if (!is_label(example)) return caption;
    if (caption.title.empty()) caption.title = name(example);
    caption.title += " (label)";
    return caption;
  }
  Sample get(const ExampleKey& key) const override {
    Sample sample = ExamplesOf::get(key);
    const auto label = sample.find("label");
    if (label == sample.end())
      fail(Exit::data, "has no label, and data.scans=both learns both scans of a pair",
           "give pairs (data.kind=npz, or a list with the columns image and label), or data.scans=image");
    if (is_label(key.example)) sample["image"] = label->second;
    sample.erase(label);
    return sample;
  }

 private:
  static bool is_label(int64_t example) { return example % scans_of_a_pair == 1; }
  int64_t source_of(int64_t example) const override { return example / scans_of_a_pair; }
};

}  // namespace

std::unique_ptr<Dataset> each_scan(std::unique_ptr<Dataset> pairs) {
  return std::make_unique<EachScan>(std::move(pairs));
}

}  // namespace larmor::latent_diffusion

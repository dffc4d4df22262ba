#include "larmor/data/some_cases.h"

#include <string>
#include <utility>

namespace larmor {
namespace {

class SomeCases final : public Dataset {
 public:
  SomeCases(std::unique_ptr<Dataset> all, int64_t count) : all_(std::move(all)), count_(count) {}

  int64_t size() const override { return count_; }
  Sample get(const ExampleKey& key) const override {
    auto place = key;
    place.example = place_of(key.example);
    return all_->get(place);
  }
  std::string name(int64_t example) const override { return all_->name(place_of(example)); }
  std::string patient(int64_t example) const override { return all_->patient(place_of(example)); }
  std::optional<Affine> grid(int64_t example) const override { return all_->grid(place_of(example)); }
  Caption caption(int64_t example) const override { return all_->caption(place_of(example)); }
  std::string content_hash(int64_t example) const override { return all_->content_hash(place_of(example)); }

 private:
  int64_t place_of(int64_t example) const { return example * all_->size() / count_; }

  std::unique_ptr<Dataset> all_;
  int64_t count_;
};

}  // namespace

std::unique_ptr<Dataset> some_cases(std::unique_ptr<Dataset> all, int64_t count) {
  if (count <= 0 || count >= all->size()) return all;
  return std::make_unique<SomeCases>(std::move(all), count);
}

}  // namespace larmor

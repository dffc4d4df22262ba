#include "larmor/data/some_cases.h"

#include <utility>

#include "larmor/data/dataset_around.h"

namespace larmor {
namespace {

class SomeCases final : public ExamplesOf {
 public:
  SomeCases(std::unique_ptr<Dataset> all, int64_t count) : ExamplesOf(std::move(all)), count_(count) {}

  int64_t size() const override { return count_; }

 private:
  int64_t source_of(int64_t example) const override { return example * inner().size() / count_; }

  const int64_t count_;
};

}  // namespace

std::unique_ptr<Dataset> some_cases(std::unique_ptr<Dataset> all, int64_t count) {
  if (count <= 0 || count >= all->size()) return all;
  return std::make_unique<SomeCases>(std::move(all), count);
}

}  // namespace larmor

#include "larmor/data/dataset_around.h"

#include <utility>

namespace larmor {

ExamplesOf::ExamplesOf(std::unique_ptr<const Dataset> inner) : own_(std::move(inner)), inner_(*own_) {}

Sample ExamplesOf::get(const ExampleKey& key) const {
  ExampleKey source = key;
  source.example = source_of(key.example);
  return inner_.get(source);
}

}  // namespace larmor

#include "larmor/checkpoint/state_parts.h"

#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

void PartWriter::tensor(std::string_view name, const at::Tensor& value) {
  tensors[std::string(name)] = value;
}
void PartWriter::value(std::string_view name, const Json& value) { values[std::string(name)] = value; }

PartReader::PartReader(NamedTensors tensors, Json values, std::string place)
    : tensors_(std::move(tensors)), values_(std::move(values)), place_(std::move(place)) {}

at::Tensor PartReader::tensor(std::string_view name) const {
  const auto found = tensors_.find(std::string(name));
  if (found == tensors_.end()) {
    fail(Exit::checkpoint, text(place_, " has no tensor ", name),
         "resume from a checkpoint of the same configuration");
  }
  return found->second;
}

Json PartReader::value(std::string_view name) const {
  if (!values_.contains(name)) {
    fail(Exit::checkpoint, text(place_, " has no value ", name),
         "resume from a checkpoint of the same configuration");
  }
  return values_[std::string(name)];
}

bool PartReader::has(std::string_view name) const {
  return tensors_.contains(std::string(name)) || values_.contains(name);
}

}  // namespace larmor

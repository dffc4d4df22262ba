// In-memory writer and reader of Stateful parts: tensors by name, values as JSON.
#pragma once

#include <string>

#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"

namespace larmor {

/// Collects what a part writes; `tensors` and `values` are what a snapshot stores.
class PartWriter final : public StateWriter {
 public:
  void tensor(std::string_view name, const at::Tensor& value) override;
  void value(std::string_view name, const Json& value) override;
  NamedTensors tensors;
  Json values;
};

/// Gives back what a checkpoint stored. Borrows nothing.
class PartReader final : public StateReader {
 public:
  PartReader(NamedTensors tensors, Json values, std::string place);
  at::Tensor tensor(std::string_view name) const override;
  Json value(std::string_view name) const override;
  bool has(std::string_view name) const override;

 private:
  NamedTensors tensors_;
  Json values_;
  std::string place_;
};

}  // namespace larmor

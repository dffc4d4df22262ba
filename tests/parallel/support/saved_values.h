// What a Parallelism saves, kept in memory.
#pragma once

#include <map>
#include <string>

#include <ATen/ops/clone.h>

#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"

namespace larmor::testing {

struct Values final : StateWriter, StateReader {
  void tensor(std::string_view name, const at::Tensor& value) override {
    tensors[std::string(name)] = value.clone();
  }
  void value(std::string_view name, const Json& value) override { values[std::string(name)] = value; }
  at::Tensor tensor(std::string_view name) const override { return tensors.at(std::string(name)); }
  Json value(std::string_view name) const override { return values.at(std::string(name)); }
  bool has(std::string_view name) const override { return tensors.contains(std::string(name)); }
  std::map<std::string, at::Tensor> tensors;
  std::map<std::string, Json> values;
};

}  // namespace larmor::testing

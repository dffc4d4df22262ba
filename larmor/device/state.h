// What can be saved and put back. Whoever holds state that a resumed run needs implements Stateful.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/json.h"

namespace larmor {

/// Collects named tensors and values. Names are relative: a parent passes a child a prefixed writer.
class StateWriter {
 public:
  virtual ~StateWriter() = default;
  virtual void tensor(std::string_view name, const at::Tensor& value) = 0;
  virtual void value(std::string_view name, const Json& value) = 0;
};

class StateReader {
 public:
  virtual ~StateReader() = default;
  /// Throw Error (checkpoint) naming what is absent.
  virtual at::Tensor tensor(std::string_view name) const = 0;
  virtual Json value(std::string_view name) const = 0;
  virtual bool has(std::string_view name) const = 0;
  /// The shape of a tensor: its sizes, and `count` of its elements from `first` on, in row-major order and
  /// flat. A reader of large states reads no more than that.
  virtual std::vector<int64_t> shape(std::string_view name) const { return tensor(name).sizes().vec(); }
  virtual at::Tensor range(std::string_view name, int64_t first, int64_t count) const {
    return tensor(name).detach().reshape({-1}).narrow(0, first, count);
  }
};

class Stateful {
 public:
  virtual ~Stateful() = default;
  virtual void save(StateWriter& writer) const = 0;
  virtual void load(const StateReader& reader) = 0;
};

}  // namespace larmor

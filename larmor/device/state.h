// What can be saved and put back. Whoever holds state that a resumed run needs implements Stateful.
#pragma once

#include <string>
#include <string_view>

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
};

class Stateful {
 public:
  virtual ~Stateful() = default;
  virtual void save(StateWriter& writer) const = 0;
  virtual void load(const StateReader& reader) = 0;
};

}  // namespace larmor

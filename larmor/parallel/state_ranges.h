// Names for parts of a parameter's state, so that a checkpoint of any number of ranks opens with any other:
// "exp_avg/decoder.conv.weight[128:256]" holds elements 128 to 255, in row-major order.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/device/state.h"
#include "larmor/device/tensors/tensor_file.h"

namespace larmor {

std::string ranged_name(const std::string& name, int64_t first, int64_t end);

/// The state that any number of ranks have saved. Parts under ranged names are one flat tensor each, under
/// the plain name; other tensors are as they are. Of all of them only what is asked for is read.
class RangedState final : public StateReader {
 public:
  /// `place` is for messages. Throws Error (checkpoint) where elements are missing or come twice.
  RangedState(StoredTensors tensors, Json values, std::string place);

  at::Tensor tensor(std::string_view name) const override;
  Json value(std::string_view name) const override;
  bool has(std::string_view name) const override;
  std::vector<int64_t> shape(std::string_view name) const override;
  at::Tensor range(std::string_view name, int64_t first, int64_t count) const override;

 private:
  struct Part {
    int64_t first = 0, end = 0;  // elements of the whole
    StoredTensor stored;
  };
  struct Whole {
    std::vector<int64_t> shape;
    std::vector<Part> parts;  // in order, without a gap
  };
  static Whole join(const std::string& name, std::vector<Part> parts);
  const Whole& find(std::string_view name) const;

  std::map<std::string, Whole, std::less<>> tensors_;
  Json values_;
  std::string place_;
};

/// A part of the state `name` of a parameter shaped `like`: `count` elements from `first` on, flat, whatever
/// form the checkpoint has it in. Throws Error (checkpoint) for another number of elements.
at::Tensor part_of_state(const StateReader& reader, const std::string& name, const at::Tensor& like,
                         int64_t first, int64_t count);
/// All of it.
at::Tensor flat_state(const StateReader& reader, const std::string& name, const at::Tensor& like);

}  // namespace larmor

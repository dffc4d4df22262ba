#include "larmor/parallel/state_ranges.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

struct RangedName {
  std::string name;
  int64_t first = 0, end = 0;
};

std::optional<RangedName> read_ranged_name(const std::string& text) {
  const size_t open = text.rfind('['), colon = text.rfind(':');
  if (open == std::string::npos || colon == std::string::npos || colon < open || text.back() != ']')
    return {};
  RangedName ranged{.name = text.substr(0, open)};
  const char* const digits = text.data();
  const auto first = std::from_chars(digits + open + 1, digits + colon, ranged.first);
  const auto end = std::from_chars(digits + colon + 1, digits + text.size() - 1, ranged.end);
  const bool are_numbers = first.ec == std::errc() && end.ec == std::errc();
  if (!are_numbers || first.ptr != digits + colon || end.ptr != digits + text.size() - 1) return {};
  return ranged;
}

int64_t elements_of(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

}  // namespace

std::string ranged_name(const std::string& name, int64_t first, int64_t end) {
  return text(name, "[", first, ":", end, "]");
}

// Tensors are moved out of it, which clang-tidy does not see behind a structured binding.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
RangedState::RangedState(StoredTensors tensors, Json values, std::string place)
    : values_(std::move(values)), place_(std::move(place)) {
  std::map<std::string, std::vector<Part>> parts;
  for (auto& [name, tensor] : tensors) {
    if (const auto ranged = read_ranged_name(name)) {
      parts[ranged->name].push_back({ranged->first, ranged->end, std::move(tensor)});
    } else {
      const int64_t elements = elements_of(tensor.shape);
      tensors_[name] = {.shape = tensor.shape, .parts = {{0, elements, std::move(tensor)}}};
    }
  }
  for (auto& [name, own] : parts) tensors_[name] = join(name, std::move(own));
}

RangedState::Whole RangedState::join(const std::string& name, std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  int64_t next = 0;
  for (const Part& part : parts) {
    const int64_t elements = elements_of(part.stored.shape);
    if (part.first != next || part.end - part.first != elements) {
      fail(Exit::checkpoint,
           text("the state '", name, "' has a part from element ", part.first, " to ", part.end, " with ",
                elements, " values, where element ", next, " should follow"),
           "resume from another checkpoint of the run");
    }
    next = part.end;
  }
  return {.shape = {next}, .parts = std::move(parts)};
}

const RangedState::Whole& RangedState::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found != tensors_.end()) return found->second;
  fail(Exit::checkpoint, text(place_, " has no tensor ", name),
       "resume from a checkpoint of the same configuration");
}

Json RangedState::value(std::string_view name) const {
  if (values_.contains(name)) return values_[std::string(name)];
  fail(Exit::checkpoint, text(place_, " has no value ", name),
       "resume from a checkpoint of the same configuration");
}

bool RangedState::has(std::string_view name) const {
  return tensors_.contains(name) || values_.contains(name);
}

std::vector<int64_t> RangedState::shape(std::string_view name) const { return find(name).shape; }

at::Tensor RangedState::tensor(std::string_view name) const {
  const Whole& whole = find(name);
  return range(name, 0, elements_of(whole.shape)).view(whole.shape);
}

at::Tensor RangedState::range(std::string_view name, int64_t first, int64_t count) const {
  const auto& parts = find(name).parts;
  std::vector<at::Tensor> read;
  for (const Part& part : parts) {
    const int64_t begin = std::max(first, part.first), end = std::min(first + count, part.end);
    if (begin < end) read.push_back(part.stored.read(begin - part.first, end - begin));
  }
  if (read.empty()) return parts.front().stored.read(0, 0);
  return read.size() == 1 ? read.front() : at::cat(read);
}

at::Tensor part_of_state(const StateReader& reader, const std::string& name, const at::Tensor& like,
                         int64_t first, int64_t count) {
  const auto shape = reader.shape(name);
  const bool is_flat = shape.size() == 1 && shape.front() == like.numel();
  if (!is_flat && shape != like.sizes().vec()) {
    fail(Exit::checkpoint, text("the shape of '", name, "' in the checkpoint is not that of the network"),
         "resume with the config that the run was started with");
  }
  return reader.range(name, first, count);
}

at::Tensor flat_state(const StateReader& reader, const std::string& name, const at::Tensor& like) {
  return part_of_state(reader, name, like, 0, like.numel());
}

}  // namespace larmor

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

struct Part {
  int64_t first = 0, end = 0;
  at::Tensor values;
};

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

at::Tensor join(const std::string& name, std::vector<Part> parts) {
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  std::vector<at::Tensor> values;
  int64_t next = 0;
  for (const Part& part : parts) {
    if (part.first != next || part.end - part.first != part.values.numel()) {
      fail(Exit::checkpoint,
           text("the state '", name, "' has a part from element ", part.first, " to ", part.end, " with ",
                part.values.numel(), " values, where element ", next, " should follow"),
           "resume from another checkpoint of the run");
    }
    next = part.end;
    values.push_back(part.values.reshape({-1}));
  }
  return at::cat(values);
}

}  // namespace

std::string ranged_name(const std::string& name, int64_t first, int64_t end) {
  return text(name, "[", first, ":", end, "]");
}

NamedTensors join_ranges(NamedTensors tensors) {
  NamedTensors joined;
  std::map<std::string, std::vector<Part>> parts;
  for (auto& [name, tensor] : tensors) {
    if (const auto ranged = read_ranged_name(name)) {
      parts[ranged->name].push_back({ranged->first, ranged->end, std::move(tensor)});
    } else {
      joined[name] = std::move(tensor);
    }
  }
  for (auto& [name, own] : parts) joined[name] = join(name, std::move(own));
  return joined;
}

at::Tensor flat_state(const StateReader& reader, const std::string& name, const at::Tensor& like) {
  const at::Tensor state = reader.tensor(name);
  const bool is_flat = state.dim() == 1 && state.numel() == like.numel();
  if (!is_flat && state.sizes() != like.sizes()) {
    fail(Exit::checkpoint, text("the shape of '", name, "' in the checkpoint is not that of the network"),
         "resume with the config that the run was started with");
  }
  return state.reshape({-1});
}

}  // namespace larmor

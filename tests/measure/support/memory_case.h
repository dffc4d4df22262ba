// Steps of many kinds whose memory is both counted beforehand and measured.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "larmor/measure/peak_prediction.h"
#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor::testing {

struct MemoryCase {
  std::string name;
  std::function<std::unique_ptr<Task>()> make_task;
  std::vector<int64_t> image;  // [C, D, H, W]
  Recompute recompute = Recompute::none;

  /// One image, on the meta device.
  Sample example() const;
};

void PrintTo(const MemoryCase& which, std::ostream* out);

/// So small that a step takes milliseconds, or wide enough for the algorithms that real networks get.
enum class CaseSize { tiny, usual };

/// Networks with and without attention, norms of each kind, crops that are no cubes; each with nothing,
/// blocks and everything computed again.
std::vector<MemoryCase> memory_cases(CaseSize size);
/// Of the first tiny network.
MemoryCase small_memory_case(Recompute recompute);

struct MeasuredCase {
  int64_t held = 0;   // bytes that forward has added: graphs and losses
  MeasuredStep step;  // with the optimizer's states and the gradients' buffers already there
};

/// Steps of one rank on so many random images each, on the CPU, after one that makes the optimizer's states.
std::vector<MeasuredCase> measure(const MemoryCase& which, const std::vector<int64_t>& samples);

}  // namespace larmor::testing

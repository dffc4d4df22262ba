// Random tensors that belong to examples: row n of a batch depends on (run seed, epoch, example n,
// purpose) alone, so any split of the batch over ranks, micro-batches or workers draws the same numbers.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Which examples this thread is working on. Set by the trainer, read by whoever draws.
struct DrawPosition {
  uint64_t seed = 0;
  std::vector<int64_t> epochs;    // one per row
  std::vector<int64_t> examples;  // one per row
};

/// Makes `position` this thread's, until the end of life.
class DrawScope {
 public:
  explicit DrawScope(DrawPosition position);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

 private:
  DrawPosition previous_;
};

/// This thread's position; a recomputation that runs elsewhere captures it in forward.
const DrawPosition& draw_position();

/// Standard normals shaped, typed and placed like `like` [N, …]; row n drawn for this thread's example n.
/// Requires: a DrawScope with N rows.
at::Tensor draw_normal_like(const at::Tensor& like, std::string_view purpose);

/// Fills a module's or a loop's one-off tensor: normals keyed by (seed, purpose), no example.
at::Tensor draw_normal(uint64_t seed, std::string_view purpose, at::IntArrayRef sizes);

}  // namespace larmor

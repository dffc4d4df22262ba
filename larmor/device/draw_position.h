// Which examples a thread draws random numbers for. Row n of a batch draws what (run seed, epoch, example n,
// purpose, turn) say and nothing else, so that any division of a batch over ranks, micro-batches or workers
// draws the same numbers. The tensors themselves come from larmor/kernels/draw/draw.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Which examples this thread is working on. Set by the trainer, read by whoever draws.
struct DrawPosition {
  uint64_t seed = 0;
  std::vector<int64_t> epochs;          // one per row
  std::vector<int64_t> examples;        // one per row
  std::vector<int64_t> positions = {};  // one per row, in the order of the run; empty: no pairs are drawn
  int64_t turn = 0;                     // sampling step, or which of several passes through one network
};

class DrawRows;

/// A draw position that several threads may share, and the copies of its keys on devices.
struct DrawPlace {
  std::shared_ptr<DrawRows> rows;
  int64_t turn = 0;
};

/// Makes a position this thread's while it lives. Within one scope each purpose is drawn once a turn.
class DrawScope {
 public:
  /// `keys`: draw_keys(position) on a device already, for draws there.
  explicit DrawScope(DrawPosition position, const at::Tensor& keys = {});
  /// The position of another scope once more: a block that is computed again draws what it drew before.
  explicit DrawScope(DrawPlace place);
  ~DrawScope();
  DrawScope(const DrawScope&) = delete;
  DrawScope& operator=(const DrawScope&) = delete;

 private:
  DrawPlace outer_;
  std::unordered_set<uint64_t>* outer_drawn_;
  std::unordered_set<uint64_t> drawn_;
};

/// Sets the turn of this thread's draws while it lives: each turn draws numbers of its own for every purpose.
/// For the steps of a sampler, and for a network that runs more than once in a step.
class DrawTurn {
 public:
  explicit DrawTurn(int64_t turn);
  ~DrawTurn();
  DrawTurn(const DrawTurn&) = delete;
  DrawTurn& operator=(const DrawTurn&) = delete;

 private:
  int64_t outer_;
};

/// This thread's position; a recomputation that runs elsewhere captures the place in forward.
DrawPosition draw_position();
DrawPlace draw_place();

/// [1 or 3, N] int64, on the host: what tells the rows' draws from each other, whatever they are drawn for.
at::Tensor draw_keys(const DrawPosition& position);

/// What one draw is keyed by: the first half of the Philox key, and for each row the second half.
struct DrawKeys {
  uint64_t key = 0;
  at::Tensor streams;  // [N] int64, of (epoch, example)
  at::Tensor pairs;    // [N] int64, of positions 2k and 2k + 1 alike; undefined without positions
  at::Tensor is_odd;   // [N] int64, 0 or 1: which of its pair; undefined without positions
};

/// The keys of this thread's next draw for `purpose`, on `device`: the first draw of a scope copies the rows'
/// keys there, later ones find them. Throws std::logic_error, in release builds as well, where no DrawScope
/// names the examples, where it does not name `rows` of them (negative: as many as it names), and where this
/// scope has drawn for the purpose in this turn before: two draws would be the same numbers.
DrawKeys begin_draw(std::string_view purpose, int64_t rows, c10::Device device);

}  // namespace larmor

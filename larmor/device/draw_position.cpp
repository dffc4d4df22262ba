#include "larmor/device/draw_position.h"

#include <mutex>
#include <stdexcept>
#include <utility>

#include <ATen/ops/empty.h>

#include "larmor/base/seed.h"
#include "larmor/base/text.h"
#include "larmor/device/send.h"

namespace larmor {

/// Thread-safe: forward and backward may run on different threads.
class DrawRows {
 public:
  DrawRows(DrawPosition position, const at::Tensor& keys) : position_(std::move(position)) {
    if (keys.defined()) copies_.push_back(keys);
  }

  const DrawPosition& position() const { return position_; }
  int64_t size() const { return std::ssize(position_.examples); }
  bool has_positions() const { return !position_.positions.empty(); }
  /// draw_keys() there.
  at::Tensor on(c10::Device device);

 private:
  const DrawPosition position_;
  std::mutex mutex_;
  std::vector<at::Tensor> copies_;  // one a device
};

/// Streams, and, where there are positions, streams of pairs and oddness.
at::Tensor draw_keys(const DrawPosition& position) {
  const auto count = position.examples.size();
  const bool has_pairs = !position.positions.empty();
  const at::Tensor rows =
      at::empty({has_pairs ? 3 : 1, static_cast<int64_t>(count)}, at::TensorOptions().dtype(at::kLong));
  auto* const values = rows.mutable_data_ptr<int64_t>();
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<int64_t>(example_stream(static_cast<uint64_t>(position.epochs[i]),
                                                    static_cast<uint64_t>(position.examples[i])));
    if (!has_pairs) continue;
    const auto place = static_cast<uint64_t>(position.positions[i]);
    // No epoch has this number, so that no example shares a pair's stream.
    constexpr auto epoch_of_pairs = ~uint64_t{0};
    values[count + i] = static_cast<int64_t>(example_stream(epoch_of_pairs, place / 2));
    values[2 * count + i] = static_cast<int64_t>(place % 2);
  }
  return rows;
}

at::Tensor DrawRows::on(c10::Device device) {
  const std::lock_guard guard(mutex_);
  for (const at::Tensor& copy : copies_) {
    // A device without an index is the current one, which a process does not change.
    const c10::Device there = copy.device();
    if (there.type() == device.type() && (!device.has_index() || there == device)) return copy;
  }
  copies_.push_back(device.is_meta() ? at::empty({has_positions() ? 3 : 1, size()},
                                                 at::TensorOptions().dtype(at::kLong).device(device))
                                     : send(draw_keys(position_), device));
  return copies_.back();
}

namespace {

thread_local DrawPlace current_place;
thread_local std::unordered_set<uint64_t>* drawn_here = nullptr;

std::shared_ptr<DrawRows> rows_of(DrawPosition position, const at::Tensor& keys) {
  const auto count = position.examples.size();
  if (position.epochs.size() != count || (!position.positions.empty() && position.positions.size() != count))
    throw std::logic_error(text("a draw position names ", count, " examples, ", position.epochs.size(),
                                " epochs and ", position.positions.size(), " positions"));
  return std::make_shared<DrawRows>(std::move(position), keys);
}

}  // namespace

DrawScope::DrawScope(DrawPosition position, const at::Tensor& keys)
    : DrawScope(DrawPlace{.rows = nullptr, .turn = position.turn}) {
  current_place.rows = rows_of(std::move(position), keys);
}

DrawScope::DrawScope(DrawPlace place)
    : outer_(std::exchange(current_place, std::move(place))),
      outer_drawn_(std::exchange(drawn_here, &drawn_)) {}

DrawScope::~DrawScope() {
  current_place = std::move(outer_);
  drawn_here = outer_drawn_;
}

DrawTurn::DrawTurn(int64_t turn) : outer_(std::exchange(current_place.turn, turn)) {}

DrawTurn::~DrawTurn() { current_place.turn = outer_; }

DrawPosition draw_position() {
  if (!current_place.rows) return {};
  DrawPosition position = current_place.rows->position();
  position.turn = current_place.turn;
  return position;
}

DrawPlace draw_place() { return current_place; }

DrawKeys begin_draw(std::string_view purpose, int64_t rows, c10::Device device) {
  const auto& place = current_place;
  if (!place.rows || drawn_here == nullptr)
    throw std::logic_error(text("\"", purpose, "\" is drawn where no DrawScope names the examples"));
  if (rows >= 0 && rows != place.rows->size())
    throw std::logic_error(text("\"", purpose, "\" is drawn for ", rows, " rows, and the DrawScope names ",
                                place.rows->size(), " examples"));
  const auto key = purpose_key(place.rows->position().seed, purpose, static_cast<uint64_t>(place.turn));
  if (!drawn_here->insert(key).second)
    throw std::logic_error(
        text("\"", purpose, "\" is drawn twice in turn ", place.turn,
             " of one pass: give each draw a purpose of its own, or each pass a DrawTurn"));
  const at::Tensor keys = place.rows->on(device);
  if (!place.rows->has_positions())
    return {.key = key, .streams = keys.select(0, 0), .pairs = {}, .is_odd = {}};
  return {.key = key, .streams = keys.select(0, 0), .pairs = keys.select(0, 1), .is_odd = keys.select(0, 2)};
}

}  // namespace larmor

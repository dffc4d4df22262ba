#include "larmor/judge/batch_feed.h"

#include <algorithm>
#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include "larmor/task/batch_device.h"

namespace larmor {

namespace {

using BatchTensors = decltype(Batch::tensors);

/// Pinned, and of the type that the device gets: a copy converts on the host, and then waits.
at::Tensor ready_to_copy(const at::Tensor& host, c10::ScalarType type) {
  const at::Tensor converted = host.to(type);
  return converted.is_pinned() ? converted : converted.pin_memory();
}

/// The very tensors, and some.
bool holds_same(const BatchTensors& left, const BatchTensors& right) {
  return !left.empty() && std::ranges::equal(left, right, [](const auto& one, const auto& other) {
    return one.first == other.first && one.second.is_same(other.second);
  });
}

}  // namespace

struct BatchFeed::State {
  /// Memory of the GPU for one batch, taken from the copies' part of the allocator.
  struct Place {
    explicit Place(c10::DeviceType type) : copied(type), given_up(type) {}
    bool is_free() const { return !is_taken && host.empty(); }
    BatchTensors device;  // empty: none yet
    BatchTensors host;    // on its way there; empty: nothing
    c10::Event copied, given_up;
    bool is_taken = false;
  };

  State(c10::Device device, Precision precision);
  c10::Stream computing() const { return gpu.getStream(device); }
  Place* on_its_way(const Batch& host);
  Place& free_place();
  void begin_copy(const Batch& host, Place& place);
  void make_room(const BatchTensors& host, Place& place);
  void give_up_taken();
  void drop(Place& place);

  const c10::impl::VirtualGuardImpl gpu;
  const c10::Device device;
  const Precision precision;
  const c10::Stream copies;
  std::array<Place, 2> places;
  const Place* given_up_last = nullptr;
  bool has_room_for_two = true;
};

BatchFeed::State::State(c10::Device on, Precision wanted)
    : gpu(on.type()),
      device(on),
      precision(wanted),
      copies(gpu.getStreamFromGlobalPool(on)),
      places{Place(on.type()), Place(on.type())} {}

BatchFeed::State::Place* BatchFeed::State::on_its_way(const Batch& host) {
  for (Place& place : places) {
    if (holds_same(place.host, host.tensors)) return &place;
  }
  return nullptr;
}

/// Of two the one that was given up earlier, or, where there is memory for one alone, that one. What is on
/// its way to the only one left is not what is asked for next.
BatchFeed::State::Place& BatchFeed::State::free_place() {
  auto& [first, second] = places;
  if (!first.is_free() && !second.is_free()) return first.is_taken ? second : first;
  if (first.is_free() != second.is_free()) return first.is_free() ? first : second;
  if (!has_room_for_two) return second.device.empty() ? first : second;
  return given_up_last == &first ? second : first;
}

/// The allocator hands memory of the copies' stream out to copies at once, unless it knows who else uses it.
void BatchFeed::State::drop(Place& place) {
  for (const auto& [name, tensor] : place.device)
    gpu.recordDataPtrOnStream(tensor.storage().data_ptr(), computing());
  place.device.clear();
  place.host.clear();
  place.is_taken = false;
}

void BatchFeed::State::make_room(const BatchTensors& host, Place& place) {
  const bool is_room_for_it = std::ranges::equal(host, place.device, [&](const auto& one, const auto& other) {
    return one.first == other.first && one.second.sizes() == other.second.sizes() &&
           type_on_device(one.second, precision) == other.second.scalar_type();
  });
  if (is_room_for_it) return;
  drop(place);
  const c10::StreamGuard guard(copies);
  BatchTensors made;
  for (const auto& [name, tensor] : host) {
    const auto type = type_on_device(tensor, precision);
    made.emplace(name, at::empty(tensor.sizes(), at::TensorOptions(device).dtype(type)));
  }
  place.device = std::move(made);
}

void BatchFeed::State::begin_copy(const Batch& host, Place& place) {
  place.host.clear();
  make_room(host.tensors, place);
  place.given_up.block(copies);
  const c10::StreamGuard guard(copies);
  for (const auto& [name, tensor] : host.tensors) {
    const at::Tensor& to = place.device.at(name);
    to.copy_(ready_to_copy(tensor, to.scalar_type()), /*non_blocking=*/true);
  }
  place.copied.record(copies);
  place.host = host.tensors;
}

void BatchFeed::State::give_up_taken() {
  for (Place& place : places) {
    if (!place.is_taken) continue;
    place.is_taken = false;
    const bool is_kept = std::ranges::any_of(place.device, [](const auto& entry) {
      return entry.second.use_count() > 1 || entry.second.storage().use_count() > 1;
    });
    if (is_kept) drop(place);
    place.given_up.record(computing());
    given_up_last = &place;
  }
}

BatchFeed::BatchFeed(c10::Device device, Precision precision)
    : state_(device.is_cpu() ? nullptr : std::make_unique<State>(device, precision)),
      device_(device),
      precision_(precision) {}

BatchFeed::~BatchFeed() {
  try {
    clear();
  } catch (const c10::Error&) {  // of a GPU that has failed, which hands out no memory any more
    return;
  }
}

void BatchFeed::copy_ahead(const Batch& host) {
  if (!state_ || !state_->has_room_for_two || state_->on_its_way(host) != nullptr) return;
  try {
    state_->begin_copy(host, state_->free_place());
  } catch (const c10::OutOfMemoryError&) {
    state_->has_room_for_two = false;
  }
}

Batch BatchFeed::take(Batch host) {
  if (!state_) return to_device(std::move(host), device_, precision_);
  auto& state = *state_;
  state.give_up_taken();
  copy_ahead(host);
  auto* place = state.on_its_way(host);
  if (place == nullptr) {  // there was no room: the one that was given up has some
    place = &state.free_place();
    state.begin_copy(host, *place);
  }
  place->copied.block(state.computing());
  place->host.clear();
  place->is_taken = true;
  host.tensors = place->device;
  return host;
}

void BatchFeed::clear() {
  if (!state_) return;
  for (auto& place : state_->places) state_->drop(place);
  state_->has_room_for_two = true;
}

}  // namespace larmor

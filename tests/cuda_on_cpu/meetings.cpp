// Where the threads of a block wait for each other.
#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/unseen.h"

namespace cuda_on_cpu {
namespace {

bool holds(unsigned mask, int lane) { return (mask >> static_cast<unsigned>(lane) & 1U) != 0; }

}  // namespace

/// A lane of the running thread's warp; null where the block ends before it.
BlockRunner::Thread* BlockRunner::of_warp(int lane) {
  const int index = running_->index / warp_lanes * warp_lanes + lane;
  return index < size_ ? threads_[static_cast<std::size_t>(index)].get() : nullptr;
}

/// Whether all lanes of the running thread's mask wait with that mask, and may go on.
bool BlockRunner::release_lanes() {
  const unsigned mask = running_->mask;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const Thread* const other = of_warp(lane);
    if (holds(mask, lane) && other != nullptr && (other->state != State::at_warp || other->mask != mask))
      return false;
  }
  for (int lane = 0; lane < warp_lanes; ++lane) {
    if (Thread* const other = of_warp(lane); holds(mask, lane) && other != nullptr)
      other->state = State::ready;
  }
  return true;
}

bool BlockRunner::release_block() {
  for (int i = 0; i < size_; ++i) {
    if (threads_[static_cast<std::size_t>(i)]->state != State::at_block) return false;
  }
  for (int i = 0; i < size_; ++i) threads_[static_cast<std::size_t>(i)]->state = State::ready;
  return true;
}

void BlockRunner::meet_block() {
  Thread& own = *running_;
  // Two places in turn: a thread may come to the next meeting before others have left this one.
  void* const meeting = &meetings_[own.block_meetings++ % 2];
  sanitizer::leave(meeting);
  own.state = State::at_block;
  own.fiber.leave();
  sanitizer::meet(meeting);
}

void BlockRunner::meet_warp(unsigned mask, bool orders_memory) {
  Thread& own = *running_;
  if (!holds(mask, lane())) refuse("a lane meets others by a mask that does not hold it");
  const auto warp = static_cast<std::size_t>(own.index / warp_lanes);
  void* const meeting = &meetings_of_warps_[2 * warp + own.warp_meetings++ % 2];
  if (orders_memory) sanitizer::leave(meeting);
  own.mask = mask;
  own.state = State::at_warp;
  if (!release_lanes()) own.fiber.leave();
  if (orders_memory) sanitizer::meet(meeting);
}

void BlockRunner::exchange(unsigned mask, void* value, std::size_t bytes, int lane) {
  copy_unseen(running_->brought, value, bytes);
  meet_warp(mask, /*orders_memory=*/false);
  const Thread* const other = of_warp(lane);
  if (!holds(mask, lane) || other == nullptr) refuse("a lane asks one that is not there for its value");
  copy_unseen(value, other->brought, bytes);
  meet_warp(mask, /*orders_memory=*/false);
}

unsigned BlockRunner::vote(unsigned mask, bool value) {
  unsigned votes = 0;
  running_->brought[0] = static_cast<char>(value);
  meet_warp(mask, /*orders_memory=*/false);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    const Thread* const other = of_warp(lane);
    if (holds(mask, lane) && other != nullptr && other->brought[0] != 0)
      votes |= 1U << static_cast<unsigned>(lane);
  }
  meet_warp(mask, /*orders_memory=*/false);
  return votes;
}

int BlockRunner::count_in_block(bool counts) {
  int count = 0;
  running_->brought[0] = static_cast<char>(counts);
  meet_block();
  for (int i = 0; i < size_; ++i) count += threads_[static_cast<std::size_t>(i)]->brought[0];
  meet_block();
  return count;
}

}  // namespace cuda_on_cpu

#include "tests/cuda_on_cpu/block.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace cuda_on_cpu {

void BlockRunner::refuse(const char* why) const { throw std::runtime_error(std::string(name_) + ": " + why); }

void BlockRunner::run(const char* name, Size blocks, Size threads, std::size_t shared_bytes,
                      const std::function<void()>& thread, uint64_t launch) {
  name_ = name;
  kernel_ = &thread;
  size_ = static_cast<int>(threads.count());
  body_ = [this] { body(); };
  while (threads_.size() < static_cast<std::size_t>(size_)) threads_.push_back(std::make_unique<Thread>());
  meetings_of_warps_.resize(2 * static_cast<std::size_t>((size_ + warp_lanes - 1) / warp_lanes));
  shared_.begin_launch(name, shared_bytes);
  sanitizer::leave(&start_);  // what the host has written
  Turns turns(order_of_launches(), launch);
  for (const uint64_t number : turns.of(blocks.count(), block_turns_))
    run_block(turns, number, blocks, threads);
  sanitizer::meet(&end_);
}

void BlockRunner::body() {
  sanitizer::meet(&start_);
  try {
    (*kernel_)();
  } catch (...) {
    failure_ = std::current_exception();
  }
  sanitizer::leave(&end_);
}

void BlockRunner::run_block(Turns& turns, uint64_t number, Size blocks, Size threads) {
  // Blocks have what stands for shared memory one after another. A race between blocks shows in their orders
  // alone.
  sanitizer::meet(&end_);
  sanitizer::leave(&start_);
  shared_.begin_block();
  const Size block(static_cast<unsigned>(number % blocks.x),
                   static_cast<unsigned>(number / blocks.x % blocks.y),
                   static_cast<unsigned>(number / blocks.x / blocks.y));
  for (int i = 0; i < size_; ++i) {
    Thread& thread = *threads_[static_cast<std::size_t>(i)];
    const auto at = static_cast<unsigned>(i);
    thread.place = {Size(at % threads.x, at / threads.x % threads.y, at / threads.x / threads.y), block,
                    threads, blocks};
    thread.index = i;
    thread.state = State::ready;
    thread.block_meetings = thread.warp_meetings = 0;
    thread.fiber.start(body_);
  }
  for (left_ = size_; left_ > 0;) {
    bool has_run = false;
    for (const uint64_t turn : turns.of(static_cast<uint64_t>(size_), thread_turns_)) {
      if (threads_[turn]->state != State::ready) continue;
      resume(*threads_[turn]);
      has_run = true;
    }
    if (left_ > 0 && !release_block() && !has_run) refuse("threads wait for others that never come");
  }
}

void BlockRunner::resume(Thread& thread) {
  running_ = &thread;
  thread.fiber.resume();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (!thread.fiber.has_ended()) return;
  thread.state = State::ended;
  --left_;
}

}  // namespace cuda_on_cpu

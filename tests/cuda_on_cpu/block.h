// The threads of one block after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tests/cuda_on_cpu/fiber.h"
#include "tests/cuda_on_cpu/grid.h"
#include "tests/cuda_on_cpu/order.h"
#include "tests/cuda_on_cpu/shared_memory.h"

namespace cuda_on_cpu {

/// What runs grids on one thread of the process. Its threads are kept for later launches.
class BlockRunner {
 public:
  void run(const char* name, Size blocks, Size threads, std::size_t shared_bytes,
           const std::function<void()>& thread, uint64_t launch);

  // By the thread that runs.
  const Place& place() const { return running_->place; }
  int lane() const { return running_->index % warp_lanes; }
  SharedMemory& shared() { return shared_; }
  void meet_block();
  int count_in_block(bool counts);
  void meet_warp(unsigned mask, bool orders_memory);
  void exchange(unsigned mask, void* value, std::size_t bytes, int lane);
  unsigned vote(unsigned mask, bool value);

 private:
  enum class State { ready, at_block, at_warp, ended };
  struct Thread {
    Fiber fiber;
    Place place;
    int index = 0;
    State state = State::ready;
    unsigned mask = 0, block_meetings = 0, warp_meetings = 0;
    alignas(bytes_of_exchange) char brought[bytes_of_exchange] = {};
  };

  void run_block(Turns& turns, uint64_t number, Size blocks, Size threads);
  void body();
  void resume(Thread& thread);
  bool release_lanes();
  bool release_block();
  [[noreturn]] void refuse(const char* why) const;
  Thread* of_warp(int lane);

  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<char> meetings_of_warps_;  // their addresses are the sanitizer's
  std::vector<uint64_t> thread_turns_, block_turns_;
  SharedMemory shared_;
  Thread* running_ = nullptr;
  std::function<void()> body_;
  const std::function<void()>* kernel_ = nullptr;
  const char* name_ = "";
  std::exception_ptr failure_;
  int size_ = 0, left_ = 0;
  char meetings_[2] = {}, start_ = 0, end_ = 0;
};

}  // namespace cuda_on_cpu

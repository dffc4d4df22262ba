#include "tests/cuda_on_cpu/grid.h"

#include <mutex>
#include <stdexcept>
#include <string>

#include "tests/cuda_on_cpu/block.h"
#include "tests/cuda_on_cpu/launches.h"

namespace cuda_on_cpu {
namespace {

BlockRunner& runner() {
  thread_local BlockRunner of_this_thread;
  return of_this_thread;
}

std::mutex mutex;
std::map<std::string, uint64_t> launches;
uint64_t launched = 0;

uint64_t count_launch(const char* name) {
  const std::lock_guard lock(mutex);
  ++launches[name];
  return launched++;
}

void check(const char* name, Size blocks, Size threads) {
  constexpr unsigned most_threads = 1024, most_deep = 64, most_blocks = 0x7fffffffU, most_beside = 65535;
  const bool fits = threads.count() > 0 && threads.count() <= most_threads && threads.z <= most_deep &&
                    blocks.count() > 0 && blocks.x <= most_blocks && blocks.y <= most_beside &&
                    blocks.z <= most_beside;
  if (!fits) throw std::runtime_error(std::string(name) + ": no card takes a grid or block of this size");
}

}  // namespace

void run_grid(const char* name, Size blocks, Size threads, std::size_t shared_bytes,
              const std::function<void()>& thread) {
  check(name, blocks, threads);
  runner().run(name, blocks, threads, shared_bytes, thread, count_launch(name));
}

Size size_of_wide(int64_t size) {
  if (size < 0 || size > INT64_C(0xffffffff)) throw std::runtime_error("a launch narrows its size");
  return {static_cast<unsigned>(size)};
}

const Place& place_here() { return runner().place(); }
int lane_here() { return runner().lane(); }
void meet_block() { runner().meet_block(); }
int count_in_block(bool counts) { return runner().count_in_block(counts); }
void meet_warp(unsigned mask) { runner().meet_warp(mask, /*orders_memory=*/true); }
unsigned vote(unsigned mask, bool value) { return runner().vote(mask, value); }
void exchange(unsigned mask, void* value, std::size_t bytes, int lane) {
  runner().exchange(mask, value, bytes, lane);
}
void* block_memory(const void* source_place, std::size_t bytes) {
  return runner().shared().at(source_place, bytes);
}
void* launched_block_memory() { return runner().shared().launched(); }

std::map<std::string, uint64_t> launches_by_kernel() {
  const std::lock_guard lock(mutex);
  return launches;
}

uint64_t launch_count() {
  const std::lock_guard lock(mutex);
  return launched;
}

}  // namespace cuda_on_cpu

// Linked where the kernels are compiled for AddressSanitizer and UndefinedBehaviorSanitizer, beside the
// twins: what they find in a kernel, by mistakes that are planted.
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda_on_cpu/planted.h"

// AddressSanitizer calls it. libtorch keeps what it has to the end.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace cuda_on_cpu {
namespace {

TEST(Bounds, OfMemoryAreHeld) {
  std::vector<int> numbers(5);
  planted::write_beyond(numbers.data(), 4);
  EXPECT_DEATH(planted::write_beyond(numbers.data(), 5), "heap-buffer-overflow.*(\n.*)*planted.cu");
}

TEST(Bounds, OfSharedMemoryAreHeld) {
  planted::write_beyond_shared(7);
  EXPECT_DEATH(planted::write_beyond_shared(8), "use-after-poison.*(\n.*)*planted.cu");
}

TEST(Bounds, OfPacksAreHeld) {
  alignas(16) float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  alignas(16) float to[4] = {};
  planted::copy_packs(from, to, 4);
  EXPECT_EQ(to[0], 5);
  EXPECT_DEATH(planted::copy_packs(from, to, 1), "planted.cu.*misaligned address");
}

}  // namespace
}  // namespace cuda_on_cpu

#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/kernels/support/memory_cases.h"

namespace larmor::testing {
namespace {

/// LARMOR_MEMORY_CASES asks for more of them, LARMOR_FIRST_MEMORY_CASE for others.
uint64_t number_in(const char* variable, uint64_t otherwise) {
  const char* const words = std::getenv(variable);
  return words == nullptr ? otherwise : std::stoull(words);
}

TEST(UnwrittenMemory, IsNotWhatAnyValueRestsOn) {
  const uint64_t first = number_in("LARMOR_FIRST_MEMORY_CASE", 0),
                 count = number_in("LARMOR_MEMORY_CASES", 150);
  uint64_t wrong = 0;
  for (uint64_t index = first; index < first + count; ++index) {
    if (const auto fault = fault_of_memory_case(index)) {
      ADD_FAILURE() << *fault;
      ++wrong;
    }
  }
  RecordProperty("cases", std::to_string(count));
  RecordProperty("wrong", std::to_string(wrong));
}

/// Strides of their own along each axis, which the cases above have seldom.
TEST(UnwrittenMemory, IsNotWhatStridedConvolutionsRestOn) {
  constexpr uint64_t cases = 300;
  for (uint64_t index = 0; index < cases; ++index) {
    if (const auto fault = fault_of_strided_case(index)) ADD_FAILURE() << *fault;
  }
}

/// Were it not, the tests above would see nothing. A kernel that writes beside its result may end the
/// process, so these are few, and end at the first.
TEST(UnwrittenMemory, IsSeenWhereLibtorchReadsIt) {
  if (!has_bf16()) GTEST_SKIP() << "oneDNN does not compute in bfloat16 here";
  for (uint64_t index = 0; index < 100; ++index)
    if (fault_of_libtorch_case(index)) return;
  ADD_FAILURE() << "libtorch has become right: conv3d() may leave convolutions to it";
}

}  // namespace
}  // namespace larmor::testing

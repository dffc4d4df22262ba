#include "larmor/device/memory/poisoned_memory.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(PoisonedMemory, HoldsNoNumberOfAnyType) {
  const PoisonedMemory poisoned;
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    EXPECT_TRUE(at::empty({1000}, type).isnan().all().item<bool>()) << type;
}

TEST(PoisonedMemory, SeesWhatIsWrittenBesideABlock) {
  // Before a block lies what the memory meter keeps of it, where one has been started.
  for (const int64_t place : {-1000, 10, 1000}) {
    const PoisonedMemory poisoned;
    {
      const at::Tensor block = at::zeros({10});
      EXPECT_EQ(poisoned.overrun(), 0);
      // Through a number, since compilers see where the block ends.
      auto address = reinterpret_cast<uintptr_t>(block.data_ptr());
      address += static_cast<uintptr_t>(place) * sizeof(float);
      *reinterpret_cast<volatile float*>(address) = 1;
    }
    EXPECT_EQ(poisoned.overrun(), 1) << place;
  }
}

TEST(PoisonedMemory, EndsWithItsScopeAndItsBlocksDoNot) {
  at::Tensor later;
  {
    const PoisonedMemory outer;
    {
      const PoisonedMemory inner;
    }
    later = at::empty({100}).fill_(1);
    EXPECT_TRUE(at::empty({100}).isnan().all().item<bool>());
  }
  EXPECT_EQ(later.sum().item<float>(), 100);
  later.reset();
  const at::Tensor usual = at::zeros({100});
  EXPECT_EQ(usual.sum().item<float>(), 0);
}

}  // namespace
}  // namespace larmor

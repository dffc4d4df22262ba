// LARMOR_TEST_KERNELS=forward, reversed or shuffled: all tests of the program compute by the kernels of
// cards, in that order of threads.
#include <cstdlib>
#include <memory>

#include <gtest/gtest.h>

#include "tests/cuda_on_cpu/card_kernels.h"
#include "tests/cuda_on_cpu/launches.h"

namespace cuda_on_cpu {
namespace {

class AskedKernels final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (const char* const order = std::getenv("LARMOR_TEST_KERNELS"))
      kernels_ = std::make_unique<CardKernels>(order_named(order));
  }
  void TearDown() override {
    EXPECT_TRUE(kernels_ == nullptr || launch_count() > 0) << "no kernel of a card was launched";
    kernels_.reset();
  }

 private:
  std::unique_ptr<CardKernels> kernels_;
};

[[maybe_unused]] const auto* const asked_kernels = ::testing::AddGlobalTestEnvironment(new AskedKernels);

}  // namespace
}  // namespace cuda_on_cpu

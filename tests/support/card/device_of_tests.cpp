#include "tests/support/card/device_of_tests.h"

#include <cstdlib>
#include <iostream>
#include <string_view>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "larmor/device/device.h"

namespace larmor::testing {
namespace {

const char* asked_device() { return std::getenv("LARMOR_TEST_DEVICE"); }

class DeviceOfTests final : public ::testing::Environment {
 public:
  void SetUp() override {
    if (asked_device() == nullptr) return;
    ASSERT_EQ(std::string_view(asked_device()), "cuda") << "LARMOR_TEST_DEVICE";
    if (!cuda_is_usable()) {
      constexpr int all_skipped = 77;  // as tests/support/main.cpp has it
      std::cout << "skipped: no GPU can be used here\n";
      std::exit(all_skipped);
    }
    Plan plan;
    plan.precision = Precision::fp64;
    plan.threads_per_rank = at::get_num_threads();
    plan.deterministic = true;
    set_up_process(plan, device_of_tests());
  }
};

[[maybe_unused]] const auto* const device_of_these_tests =
    ::testing::AddGlobalTestEnvironment(new DeviceOfTests);

}  // namespace

c10::Device device_of_tests() {
  return asked_device() == nullptr ? c10::Device(c10::kCPU) : c10::Device(c10::kCUDA, 0);
}

}  // namespace larmor::testing

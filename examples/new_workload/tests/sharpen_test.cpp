#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/new_workload/sharpen/sharpen_task.h"

namespace larmor::new_workload {
namespace {

TEST(SharpenTask, GivesAnImageOfTheSameShape) {
  SharpenTask task(/*channels=*/4, /*seed=*/1, c10::kCPU);
  EXPECT_EQ(task.sharpen(at::ones({2, 1, 5, 6, 7})).sizes(), at::IntArrayRef({2, 1, 5, 6, 7}));
}

}  // namespace
}  // namespace larmor::new_workload

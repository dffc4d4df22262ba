#include "larmor/measure/step_trace.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/device/run_block.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

struct Doubling : torch::nn::Module {
  static at::Tensor forward(const at::Tensor& input) { return at::sigmoid(input) * 2; }
};

std::vector<std::string> names_in(const std::filesystem::path& file) {
  std::vector<std::string> names;
  const auto document = read_json(file);
  for (const auto& event : document["traceEvents"]) {
    if (event.contains("name")) names.push_back(event["name"]);
  }
  return names;
}

TEST(Trace, HoldsOperatorsBackwardAndTheNamesOfBlocks) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "trace.json";
  const auto block = std::make_shared<Doubling>();
  DiskStorage storage;
  trace(storage, file, at::kCPU,
        [&] { nn::run_block(block, at::ones({3}).requires_grad_()).sum().backward(); });
  const auto names = names_in(file);
  EXPECT_THAT(names, ::testing::Contains("aten::sigmoid"));
  EXPECT_THAT(names, ::testing::Contains(HasSubstr("SigmoidBackward")));
  EXPECT_THAT(names, ::testing::Contains(HasSubstr("Doubling")));
}

TEST(Trace, SaysWhereItCannotBeWrittenBeforeTheWork) {
  const ScratchFolder scratch;
  DiskStorage storage;
  try {
    trace(storage, scratch.path() / "nowhere" / "trace.json", at::kCPU, [] { FAIL(); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("nowhere"));
  }
}

}  // namespace
}  // namespace larmor

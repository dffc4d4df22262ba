#include "larmor/device/tensors/pretrained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// norm.weight [3], norm.bias [3], head.weight [2, 3], head.bias [2]
struct SmallImpl final : torch::nn::Module {
  SmallImpl() {
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({3})));
    head = register_module("head", torch::nn::Linear(3, 2));
  }
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
};
TORCH_MODULE(Small);

NamedTensors old_names() {
  return {{"LayerNorm.gamma", at::full({3}, 5.0F)},
          {"LayerNorm.beta", at::full({3}, 6.0F)},
          {"classifier.weight", at::full({2, 3}, 7.0F)}};
}

const PretrainedOptions modern{
    .left_behind = {"classifier."},
    .renames = {{"LayerNorm.", "norm."}, {".gamma", ".weight"}, {".beta", ".bias"}}};

TEST(Pretrained, TakesWhatFitsUnderOtherNames) {
  Small network;
  const at::Tensor head = network->head->weight.detach().clone();
  const StartReport report = start_from(*network, old_names(), "old.safetensors", modern);
  EXPECT_TRUE(at::equal(network->norm->weight.detach(), at::full({3}, 5.0F)));
  EXPECT_TRUE(at::equal(network->norm->bias.detach(), at::full({3}, 6.0F)));
  EXPECT_TRUE(at::equal(network->head->weight.detach(), head));
  EXPECT_EQ(report.copied, 2);
  EXPECT_THAT(report.left, ElementsAre("classifier.weight"));
  EXPECT_THAT(report.not_in_file, ElementsAre("head.bias", "head.weight"));
  EXPECT_EQ(lines_of(report).front(), "started from old.safetensors: 2 of 4 tensors");
}

TEST(Pretrained, RefusesTwoTensorsThatRenamingMakesOne) {
  Small network;
  NamedTensors tensors = old_names();
  tensors["norm.weight"] = at::zeros({3});
  const at::Tensor before = network->norm->weight.detach().clone();
  EXPECT_THROW(start_from(*network, tensors, "old.safetensors", modern), Error);
  EXPECT_TRUE(at::equal(network->norm->weight.detach(), before));
}

TEST(Pretrained, SaysWhatToDoAboutShapesThatDiffer) {
  Small network;
  try {
    start_from(*network, {{"norm.weight", at::zeros({4})}}, "other.safetensors",
               {.shape_hint = [](const NamedTensors&, const NamedTensors& file) {
                 return "set width=" + std::to_string(file.at("norm.weight").size(0));
               }});
    FAIL() << "other shapes were taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("norm.weight is [4] there and [3] here"));
    EXPECT_EQ(error.hint(), "set width=4");
  }
}

TEST(Pretrained, RefusesAFileThatLacksWhatIsNeededAndLeavesTheNetworkAlone) {
  Small network;
  const at::Tensor before = network->norm->weight.detach().clone();
  PretrainedOptions whole = modern;
  whole.needs_all = true;
  whole.what_fits = "give all of it";
  try {
    start_from(*network, old_names(), "old.safetensors", whole);
    FAIL() << "a file without a head was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("lack 2 of the network's 4 tensors: head.bias, head.weight"));
    EXPECT_EQ(error.hint(), "give all of it");
  }
  EXPECT_TRUE(at::equal(network->norm->weight.detach(), before));
  whole.may_lack = {"head."};
  EXPECT_EQ(start_from(*network, old_names(), "old.safetensors", whole).copied, 2);
}

TEST(Pretrained, RefusesAFileOfWhichNothingFits) {
  Small network;
  EXPECT_THROW(start_from(*network, {{"elsewhere", at::zeros({4})}}, "other.safetensors", {}), Error);
}

}  // namespace
}  // namespace larmor::testing

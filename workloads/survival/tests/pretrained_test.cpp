#include "workloads/survival/risk/pretrained.h"

#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/nn/networks/resnet.h"

namespace larmor::survival {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

nn::ResNetOptions of_depth(int64_t depth) {
  nn::ResNetOptions options;
  options.depth = depth;
  return options;
}

// Names and shapes; whatever is copied between two of these has no values.
nn::ResNet outline(const nn::ResNetOptions& options) { return nn::ResNet(options, c10::kMeta); }

NamedTensors weights_of(const nn::ResNetOptions& options) { return state_dict(*outline(options)); }

NamedTensors with_prefix(const std::string& prefix, const NamedTensors& tensors) {
  NamedTensors longer;
  for (const auto& [name, tensor] : tensors) longer[prefix + name] = tensor;
  return longer;
}

// As its checkpoints are: no last layer, a decoder, shortcuts without bias.
NamedTensors medical_net(int64_t depth, nn::ResNetShortcut shortcut) {
  nn::ResNetOptions options = of_depth(depth);
  options.bias_downsample = false;
  options.shortcut_type = shortcut;
  NamedTensors tensors = weights_of(options);
  std::erase_if(tensors, [](const auto& entry) { return entry.first.starts_with("fc."); });
  tensors["conv_seg.0.weight"] = at::zeros({4, 4});
  tensors["conv_seg.1.running_mean"] = at::zeros(4);
  return tensors;
}

StartReport start(const nn::ResNetOptions& options, const NamedTensors& tensors) {
  nn::ResNet network = outline(options);
  return start_from(*network, tensors, "w.safetensors");
}

Error refusal(const nn::ResNetOptions& options, const NamedTensors& tensors) {
  try {
    start(options, tensors);
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "it was taken";
  return Error(Exit::done, "");
}

TEST(StartFrom, TakesTheValuesOfAFileAndKeepsItsOwnLastLayer) {
  nn::ResNet network(of_depth(10));
  NamedTensors before;
  for (const auto& [name, tensor] : state_dict(*network)) before[name] = tensor.clone();

  NamedTensors file;
  int64_t next = 0;
  for (const auto& [name, tensor] : before) file[name] = at::full_like(tensor, ++next);
  file["fc.weight"] = at::ones({72, 512});
  file["fc.bias"] = at::ones(72);
  std::erase_if(file, [](const auto& entry) { return entry.first.starts_with("layer4"); });
  const auto path = std::filesystem::path(::testing::TempDir()) / "pretrained_test.safetensors";
  write_tensors(*make_storage(), path, with_prefix("state_dict.module.", file));
  const StartReport report = start_from(*network, read_published_weights(path), path.string());
  std::filesystem::remove(path);

  EXPECT_EQ(report.copied, static_cast<int64_t>(file.size()) - 2);
  EXPECT_EQ(report.in_network, static_cast<int64_t>(before.size()));
  EXPECT_THAT(report.left, ElementsAre("fc.bias", "fc.weight"));
  EXPECT_THAT(report.not_in_network, IsEmpty());
  EXPECT_THAT(report.not_in_file, Each(HasSubstr("layer4")));
  for (const auto& [name, tensor] : state_dict(*network)) {
    const bool is_taken = file.contains(name) && !name.starts_with("fc.");
    EXPECT_TRUE(tensor.equal(is_taken ? file.at(name) : before.at(name))) << name;
  }
  for (const auto& parameter : network->parameters()) EXPECT_TRUE(parameter.requires_grad());
}

TEST(StartFrom, SaysWhatItDid) {
  NamedTensors file = weights_of(of_depth(18));
  file.erase("fc.weight");
  file.erase("fc.bias");
  file["extra"] = at::zeros(1);
  EXPECT_THAT(lines_of(start(of_depth(18), file)),
              ElementsAre("started from w.safetensors: 123 of 125 tensors", "not in the network: extra",
                          "not in the file: fc.bias, fc.weight"));
  for (int i = 0; i < 10; ++i) file["extra" + std::to_string(i)] = at::zeros(1);
  EXPECT_THAT(lines_of(start(of_depth(18), file)),
              Contains("not in the network: extra, extra0, extra1, extra2, extra3, extra4, extra5, extra6, "
                       "and 3 more"));
}

TEST(StartFrom, TakesMedicalNet) {
  nn::ResNetOptions options = of_depth(50);
  options.bias_downsample = false;
  StartReport report = start(options, medical_net(50, nn::ResNetShortcut::convolution));
  EXPECT_EQ(report.copied, report.in_network - 2);
  EXPECT_THAT(report.left, ElementsAre("conv_seg.0.weight", "conv_seg.1.running_mean"));
  EXPECT_THAT(report.not_in_file, ElementsAre("fc.bias", "fc.weight"));
  EXPECT_THAT(report.advice, IsEmpty());

  report = start(of_depth(50), medical_net(50, nn::ResNetShortcut::convolution));
  EXPECT_THAT(report.not_in_file, SizeIs(6));
  EXPECT_THAT(report.not_in_file, Contains("layer1.0.downsample.0.bias"));
  EXPECT_THAT(report.advice, ElementsAre(HasSubstr("starts at 0, which changes nothing")));

  report = start(of_depth(18), medical_net(18, nn::ResNetShortcut::zero_padding));
  EXPECT_THAT(report.advice, Contains(HasSubstr("set model.shortcut_type=A")));
  options = of_depth(18);
  options.shortcut_type = nn::ResNetShortcut::zero_padding;
  report = start(options, medical_net(18, nn::ResNetShortcut::zero_padding));
  EXPECT_EQ(lines_of(report).front(), "started from w.safetensors: 102 of 104 tensors");
  EXPECT_THAT(report.advice, IsEmpty());
}

TEST(StartFrom, NamesTheShortcutBiasesThatTheNetworkHasNoPlaceFor) {
  nn::ResNetOptions options = of_depth(18);
  options.bias_downsample = false;
  const StartReport report = start(options, weights_of(of_depth(18)));
  EXPECT_THAT(report.not_in_network, ElementsAre("layer2.0.downsample.0.bias", "layer3.0.downsample.0.bias",
                                                 "layer4.0.downsample.0.bias"));
  EXPECT_THAT(report.advice, ElementsAre(HasSubstr("set model.bias_downsample=true")));

  options = of_depth(18);
  options.shortcut_type = nn::ResNetShortcut::zero_padding;
  EXPECT_THAT(start(options, weights_of(of_depth(18))).advice,
              ElementsAre(HasSubstr("set model.shortcut_type=B")));
}

TEST(StartFrom, NamesTheDepthOfAFileThatFitsInPart) {
  for (const auto& [file, network] : {std::pair{34, 18}, {18, 34}, {101, 50}, {10, 18}, {200, 152}}) {
    EXPECT_THAT(start(of_depth(network), weights_of(of_depth(file))).advice,
                Contains(AllOf(HasSubstr("another depth"), HasSubstr("model.depth=" + std::to_string(file)))))
        << file;
  }
}

TEST(StartFrom, NamesRunningStatisticsThatAreLost) {
  nn::ResNetOptions options = of_depth(18);
  options.norm = nn::ResNetNorm::group;
  const StartReport report = start(options, weights_of(of_depth(18)));
  EXPECT_THAT(report.not_in_network, Contains("bn1.running_mean"));
  EXPECT_THAT(report.advice, ElementsAre(HasSubstr("model.norm=batch")));
}

TEST(StartFrom, RefusesOtherShapesAndSaysWhichKeyToSet) {
  const Error depth = refusal(of_depth(18), weights_of(of_depth(50)));
  EXPECT_EQ(depth.exit(), Exit::usage);
  EXPECT_THAT(depth.message(), AllOf(HasSubstr("w.safetensors"), HasSubstr("more")));
  EXPECT_THAT(depth.hint(), HasSubstr("model.depth=50"));
  // As many blocks, but of another kind.
  EXPECT_THAT(refusal(of_depth(34), weights_of(of_depth(50))).hint(), HasSubstr("model.depth=50"));

  nn::ResNetOptions options = of_depth(18);
  options.n_input_channels = 3;
  const Error channels = refusal(of_depth(18), weights_of(options));
  EXPECT_THAT(channels.message(),
              HasSubstr("conv1.weight is [64, 3, 7, 7, 7] there and [64, 1, 7, 7, 7] here"));
  EXPECT_THAT(channels.hint(), HasSubstr("model.n_input_channels=3"));
  options = of_depth(18);
  options.conv1_t_size = {3, 3, 5};
  EXPECT_THAT(refusal(of_depth(18), weights_of(options)).hint(), HasSubstr("model.conv1_t_size=[3, 3, 5]"));
  options.depth = 34;
  options.n_input_channels = 2;
  EXPECT_EQ(
      refusal(of_depth(18), weights_of(options)).hint(),
      "for the file's network set model.depth=34, model.n_input_channels=2, model.conv1_t_size=[3, 3, 5]");
  NamedTensors narrow = weights_of(of_depth(18));
  narrow["conv1.weight"] = at::zeros({32, 1, 7, 7, 7});
  EXPECT_THAT(refusal(of_depth(18), narrow).hint(), HasSubstr("model.widen_factor=0.5"));
}

TEST(StartFrom, LeavesTheNetworkAloneWhenItRefuses) {
  nn::ResNet network(of_depth(10));
  const at::Tensor before = state_dict(*network).at("bn1.weight").clone();
  const NamedTensors file = {{"bn1.weight", at::full(64, 5.0)}, {"bn1.bias", at::zeros(65)}};
  EXPECT_THROW(start_from(*network, file, "w.safetensors"), Error);
  EXPECT_TRUE(state_dict(*network).at("bn1.weight").equal(before));
}

TEST(StartFrom, RefusesAFileOfWhichNothingFits) {
  const Error strange = refusal(of_depth(18), {{"encoder.weight", at::zeros(3)}});
  EXPECT_EQ(strange.exit(), Exit::usage);
  EXPECT_THAT(strange.message(),
              AllOf(HasSubstr("w.safetensors"), HasSubstr("encoder.weight there"), HasSubstr("bn1.bias")));
  EXPECT_EQ(refusal(of_depth(18), {}).exit(), Exit::usage);
  // The last layer alone is nothing to start from.
  EXPECT_EQ(refusal(of_depth(18), {{"fc.bias", at::zeros(1)}}).exit(), Exit::usage);
}

}  // namespace
}  // namespace larmor::survival

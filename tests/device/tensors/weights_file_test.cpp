#include "larmor/device/tensors/weights_file.h"

#include <fstream>
#include <limits>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

class WeightsFile : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(scratch.path() / name, std::ios::binary) << bytes;
    return scratch.path() / name;
  }
  std::filesystem::path write(const std::string& name, const NamedTensors& tensors) {
    write_tensors(disk, scratch.path() / name, tensors);
    return scratch.path() / name;
  }
  std::filesystem::path write_index(const Json& weight_map) const {
    return write("model.safetensors.index.json",
                 Json{{"metadata", {{"total_size", 24}}}, {"weight_map", weight_map}}.dump());
  }
  /// Message and hint.
  static std::string refusal(const std::filesystem::path& path) {
    try {
      read_published_weights(path);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      return error.message() + " | " + error.hint();
    }
  }

  const ScratchFolder scratch;
  DiskStorage disk;
  const NamedTensors first = {{"a.weight", at::arange(4).to(at::kFloat)}},
                     second = {{"b.weight", at::arange(2).to(at::kHalf)}};
};

TEST_F(WeightsFile, IsOneFileOrTheFilesOfAnIndex) {
  EXPECT_TRUE(
      read_published_weights(write("model.safetensors", first)).at("a.weight").equal(first.at("a.weight")));
  write("model-00001-of-00002.safetensors", first);
  write("model-00002-of-00002.safetensors", second);
  const auto index = write_index(
      {{"a.weight", "model-00001-of-00002.safetensors"}, {"b.weight", "model-00002-of-00002.safetensors"}});
  const NamedTensors all = read_published_weights(index);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(all.at("b.weight").equal(second.at("b.weight")));
  EXPECT_EQ(all.at("b.weight").scalar_type(), at::kHalf);
}

TEST_F(WeightsFile, NamesTensorsWithoutWhatWrappersPutIntoTheNames) {
  for (const std::string name :
       {"module.a.weight", "_orig_mod.a.weight", "module._orig_mod.a.weight", "_orig_mod.module.a.weight",
        "a._orig_mod.weight", "module.module.a.weight", "model.a.weight", "net.a.weight", "backbone.a.weight",
        "state_dict.a.weight", "model.module.a.weight", "state_dict.module.backbone.net.a.weight",
        "model._orig_mod.net._orig_mod.a.weight"}) {
    const auto read = read_published_weights(write(name + ".safetensors", {{name, at::arange(4)}}));
    EXPECT_EQ(read.begin()->first, "a.weight") << name;
  }
  for (const std::string name :
       {"a.module.weight", "my_orig_mod.weight", "visual_encoder.backbone.weight", "lin0.model.1.weight",
        "encoder.weight", "modules.weight", "model_ema.weight"})
    EXPECT_EQ(without_wrappers(name), name) << "a part of the network";
  EXPECT_THAT(refusal(write("model.safetensors", {{"a", at::arange(4)}, {"module.a", at::arange(4)}})),
              HasSubstr("holds a twice, under different prefixes"));
  EXPECT_THAT(refusal(write("two.safetensors", {{"model.a", at::arange(4)}, {"net.a", at::arange(4)}})),
              HasSubstr("holds a twice, under different prefixes"));
}

TEST_F(WeightsFile, RefusesValuesThatAreNone) {
  for (const auto type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    at::Tensor values = at::zeros({4}, type);
    values[2] = std::numeric_limits<double>::quiet_NaN();
    values[3] = std::numeric_limits<double>::infinity();
    const std::string refused = refusal(
        write(std::string(c10::toString(type)) + ".safetensors", {{"a", values}, {"b", at::arange(3)}}));
    EXPECT_THAT(refused, HasSubstr("holds 2 values that are NaN or infinite, in a"));
    EXPECT_THAT(refused, HasSubstr("an earlier checkpoint"));
  }
}

TEST_F(WeightsFile, RefusesWhatPyTorchHasSavedAndSaysWhatMakesAFileOfIt) {
  for (const std::string beginning : {"PK\x03\x04", "\x80\x02", "\x80\x04"}) {
    const std::string refused = refusal(write("pytorch_model.bin", beginning + std::string(64, 'x')));
    EXPECT_THAT(refused, HasSubstr("could run code"));
    EXPECT_THAT(refused, HasSubstr("tools/weights_to_safetensors.py"));
  }
}

TEST_F(WeightsFile, RefusesPointersFoldersAndFilesOfKeras) {
  EXPECT_THAT(
      refusal(write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n")),
      HasSubstr("git lfs pull"));
  EXPECT_THAT(refusal(scratch.path()), HasSubstr("model.safetensors.index.json"));
  EXPECT_THAT(refusal(write("tf_model.h5", "\x89HDF\r\n\x1a\n")), HasSubstr("Keras"));
  EXPECT_NE(refusal(scratch.path() / "absent.safetensors"), "");
}

TEST_F(WeightsFile, RefusesAnIndexThatDoesNotFitItsFiles) {
  write("one.safetensors", first);
  write("two.safetensors", first);
  EXPECT_THAT(refusal(write_index({{"a.weight", "one.safetensors"}, {"c", "one.safetensors"}})),
              HasSubstr("c is in none of its files"));
  EXPECT_THAT(refusal(write_index({{"a.weight", "one.safetensors"}, {"c", "two.safetensors"}})),
              HasSubstr("a.weight is in two of its files"));
  EXPECT_THAT(refusal(write_index({{"a.weight", "../one.safetensors"}})), HasSubstr("in no file beside it"));
  EXPECT_THAT(refusal(write_index({{"a.weight", 3}})), HasSubstr("in no file beside it"));
  EXPECT_THAT(refusal(write_index(Json::object())), HasSubstr("no weight_map"));
  EXPECT_NE(refusal(write_index({{"a.weight", "three.safetensors"}})), "") << "the file is not there";
  write("model-00001-of-00002.bin", std::string("PK\x03\x04 and more"));
  EXPECT_THAT(refusal(write_index({{"a.weight", "model-00001-of-00002.bin"}})), HasSubstr("could run code"));
}

}  // namespace
}  // namespace larmor::testing

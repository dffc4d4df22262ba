#include "larmor/device/tensors/tensor_file.h"

#include <sys/stat.h>

#include <fstream>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"

namespace larmor::testing {
namespace {

class TensorFile : public ::testing::Test {
 protected:
  // A file with this header text and so many zero bytes of data.
  std::filesystem::path file_with(const std::string& header, size_t data_bytes) const {
    const auto path = scratch.path() / "made.safetensors";
    std::ofstream file(path, std::ios::binary);
    const uint64_t size = header.size();
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file << header << std::string(data_bytes, '\0');
    return path;
  }
  std::string refusal(const std::filesystem::path& path) const {
    try {
      read_tensors(path);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::checkpoint);
      return error.message();
    }
  }

  const ScratchFolder scratch;
  DiskStorage disk;
};

TEST_F(TensorFile, GivesBackEveryTypeAndShape) {
  NamedTensors tensors;
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                          at::kChar, at::kByte, at::kBool}) {
    tensors[c10::toString(type)] = at::arange(6).reshape({2, 3}).to(type);
  }
  tensors["scalar"] = at::full({}, 7.0);
  tensors["empty"] = at::empty({0, 3});
  tensors["transposed"] = at::arange(6).to(at::kFloat).reshape({2, 3}).t();
  Metadata metadata;
  const auto path = scratch.path() / "all.safetensors";
  const auto written = write_tensors(disk, path, tensors, {{"config", "{}"}});
  const auto read = read_tensors(path, &metadata);
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    EXPECT_EQ(read.at(name).scalar_type(), tensor.scalar_type()) << name;
    EXPECT_TRUE(read.at(name).equal(tensor)) << name;
  }
  EXPECT_EQ(metadata.at("config"), "{}");
  EXPECT_EQ(written.bytes, std::filesystem::file_size(path));
  EXPECT_EQ(written.sha256, sha256_of_file(path));
}

TEST_F(TensorFile, RefusesAHeaderThatClaimsMoreThanTheFile) {
  const auto path = scratch.path() / "short.safetensors";
  std::ofstream(path, std::ios::binary) << std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10);
  EXPECT_NE(refusal(path).find("header claims"), std::string::npos);
  std::ofstream(path, std::ios::binary) << "abc";
  EXPECT_NE(refusal(path).find("too short"), std::string::npos);
  EXPECT_NE(refusal(scratch.path() / "absent").find("cannot read"), std::string::npos);
}

TEST_F(TensorFile, RefusesEveryKindOfLie) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(refusal(file_with(good, 8)), "");
  const std::pair<const char*, size_t> lies[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8},
      {R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0},
      {R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]}})",
       0},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4611686018427387904,0],"data_offsets":[0,0]}})",
       0},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       8},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       8},
      {R"({"a":{"dtype":"F32","shape":[2]}})", 8},
      {R"({"__metadata__":{"x":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8},
      {R"([1])", 0},
      {R"({"a")", 0},
  };
  for (const auto& [header, bytes] : lies) EXPECT_NE(refusal(file_with(header, bytes)), "") << header;
}

// It passed the checks once, and libtorch then said "Stride calculation overflowed", with no word of the
// file.
TEST_F(TensorFile, NamesTheFileOfAnEmptyTensorWhoseStepsCannotBeCounted) {
  const auto path = file_with(
      R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4611686018427387904],"data_offsets":[0,0]}})", 0);
  EXPECT_THAT(refusal(path), ::testing::AllOf(::testing::HasSubstr(path.string()),
                                              ::testing::HasSubstr("more elements than can be counted")));
}

TEST_F(TensorFile, RefusesAFifoAtOnce) {
  const auto path = scratch.path() / "fifo.safetensors";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(refusal(path), ::testing::HasSubstr("is a FIFO"));
}

TEST_F(TensorFile, TellsTheHashOfTheBytesThatWereRead) {
  const auto path = scratch.path() / "some.safetensors";
  const auto written =
      write_tensors(disk, path, {{"a", at::arange(7)}, {"b", at::zeros({0, 3})}, {"c", at::ones(5)}});
  std::string read;
  EXPECT_EQ(read_tensors(path, nullptr, &read).size(), 3U);
  EXPECT_EQ(read, written.sha256);
}

}  // namespace
}  // namespace larmor::testing

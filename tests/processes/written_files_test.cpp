// What the libraries that people use read in the files that a run and `predict` have written. Needs
// LARMOR_ORACLES.
#include <cstring>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/hash.h"

#include "tests/processes/support/oracle.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

class WrittenFiles : public TrainedRun {
 protected:
  static void SetUpTestSuite() {
    if (has_oracles()) TrainedRun::SetUpTestSuite();
  }
  void SetUp() override {
    if (!has_oracles()) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment";
  }
  static Json report_of(const std::string& file) { return call({"inspect", file, "--json"}).json().at(0); }
};

/// Every tensor of that file: safetensors' own reading has the type, shape and bytes that lie there.
void expect_read_alike(const std::filesystem::path& file) {
  const std::map<std::string, std::string> types{
      {"F32", "float32"}, {"F64", "float64"}, {"I64", "int64"}, {"I32", "int32"}, {"U8", "uint8"}};
  const auto bytes = read_text(file);
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  const auto read = ask_oracle("safetensors_file.py", file);
  const auto header = parse_json(bytes.substr(8, header_bytes), "header");
  size_t tensors = 0;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    ++tensors;
    const auto begin = entry["data_offsets"][0].get<size_t>(), end = entry["data_offsets"][1].get<size_t>();
    EXPECT_EQ(read[name]["sha256"], sha256(bytes.substr(8 + header_bytes + begin, end - begin)))
        << file << " " << name;
    EXPECT_EQ(read[name]["shape"], entry["shape"]) << file << " " << name;
    EXPECT_EQ(read[name]["dtype"], types.at(entry["dtype"])) << file << " " << name;
  }
  EXPECT_EQ(read.size(), tensors) << file;
  EXPECT_GT(tensors, 0U) << file;
}

TEST_F(WrittenFiles, SafetensorsReadsEveryTensorOfACheckpoint) {
  size_t files = 0;
  for (const auto& item : std::filesystem::directory_iterator(run() / "checkpoints" / "last")) {
    if (item.path().extension() != ".safetensors") continue;
    expect_read_alike(item.path());
    ++files;
  }
  EXPECT_GE(files, 5U) << "model, discriminator, ema and two optimizers";
}

TEST_F(WrittenFiles, TensorBoardReadsEveryValueOfTheEvents) {
  const auto scalars = ask_oracle("tensorboard_events.py", run() / "tb")["scalars"];
  std::map<std::pair<std::string, int64_t>, float> read;
  for (const auto& [name, points] : scalars.items()) {
    for (const auto& point : points) {
      const bool is_new =
          read.emplace(std::pair(name, point[0].get<int64_t>()), point[2].get<float>()).second;
      EXPECT_TRUE(is_new) << name << " " << point;
    }
  }
  size_t values = 0;
  for (const auto& event : events_of(run())) {
    for (const auto& [name, value] : event["values"].items()) {
      ++values;
      const auto found = read.find({name, event["step"].get<int64_t>()});
      ASSERT_NE(found, read.end()) << name << " of step " << event["step"];
      EXPECT_EQ(found->second, value.get<float>()) << name << " of step " << event["step"];
    }
  }
  EXPECT_EQ(read.size(), values) << "nothing that the events do not have";
}

TEST_F(WrittenFiles, TensorBoardShowsThePictures) {
  const auto images = ask_oracle("tensorboard_events.py", run() / "tb")["images"];
  ASSERT_FALSE(images.empty());
  constexpr auto png_in_hex = "89504e470d0a1a0a";
  for (const auto& [name, pictures] : images.items()) {
    for (const auto& picture : pictures) {
      EXPECT_GT(picture[1].get<int>(), 0) << name;
      EXPECT_EQ(picture[3].get<std::string>().substr(0, 16), png_in_hex) << name;
    }
  }
}

TEST_F(WrittenFiles, NibabelReadsAPredictionWhereItsInputLies) {
  for (const int16_t qform_code : {int16_t{0}, int16_t{1}}) {
    for (const int16_t sform_code : {int16_t{0}, int16_t{3}}) {
      if (qform_code == 0 && sform_code == 0) continue;  // says nowhere where it is
      auto bytes = nifti_bytes({.size = {13, 10, 9}, .spacing = 1.5F, .voxels = 13 * 10 * 9});
      const float turn = 0.1F, shift = -20.25F;
      std::memcpy(bytes.data() + 252, &qform_code, sizeof(qform_code));
      std::memcpy(bytes.data() + 254, &sform_code, sizeof(sform_code));
      std::memcpy(bytes.data() + 256, &turn, sizeof(turn));
      std::memcpy(bytes.data() + 268, &shift, sizeof(shift));
      bytes.replace(148, 13, "a tilted head");
      bytes[123] = 2 + 8;
      put_file(folder() / "in.nii", bytes);
      const auto end =
          call({"predict", "run", "--input", "in.nii", "--output", "out.nii.gz", "--keep-header-text"});
      ASSERT_EQ(end.status, 0) << end.err;
      const auto before = ask_oracle("nifti_file.py", folder() / "in.nii"),
                 after = ask_oracle("nifti_file.py", folder() / "out.nii.gz");
      for (const auto* key : {"affine", "shape", "spacing", "units", "sform_code", "qform_code", "descrip"}) {
        EXPECT_EQ(after[key], before[key])
            << key << " with the codes " << qform_code << " and " << sform_code;
      }
      EXPECT_EQ(after["dtype"], "float32");
      EXPECT_EQ(after["sha256"], report_of("out.nii.gz")["sha256"]);
    }
  }
}

TEST_F(WrittenFiles, NibabelReadsWhatWasConverted) {
  if (shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  size_t files = 0;
  for (const auto& item : std::filesystem::recursive_directory_iterator(shared_data() / "brain")) {
    if (!item.path().string().ends_with(".nii.gz")) continue;
    const auto report =
        call({"inspect", item.path().string(), "--convert", "converted.nii", "--keep-header-text", "--json"})
            .json()
            .at(0);
    const auto before = ask_oracle("nifti_file.py", item.path()),
               after = ask_oracle("nifti_file.py", folder() / "converted.nii");
    for (const auto* key :
         {"affine", "shape", "spacing", "units", "sform_code", "qform_code", "descrip", "sha256"}) {
      EXPECT_EQ(after[key], before[key]) << item.path() << " " << key;
    }
    EXPECT_EQ(after["sha256"], report["sha256"]) << item.path();
    ++files;
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace larmor::testing

#include "larmor/formats/mistaken_file.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MistakenFiles : public ::testing::Test {
 protected:
  std::string told(const std::string& name, const std::string& bytes) const {
    const auto path = scratch_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    write_file(path, bytes);
    const auto mistaken = mistaken_file(path);
    return mistaken ? mistaken->what + " / " + mistaken->remedy : "";
  }
  ScratchFolder scratch_;
};

TEST_F(MistakenFiles, AreToldByTheirContentAndNameWithWhoReadsThem) {
  const std::string weights = published(uint64_t{2}) + "{}" + std::string(8, '\0');
  EXPECT_THAT(told("w.safetensors", weights), AllOf(HasSubstr("weights"), HasSubstr("--weights FILE")));
  EXPECT_THAT(told("renamed.nii", weights), HasSubstr("safetensors"));
  EXPECT_THAT(told("a.pt", "PK\x03\x04 archive/data.pkl"), HasSubstr("tools/weights_to_safetensors.py"));
  EXPECT_THAT(told("a.zip", "PK\x03\x04 head.nii"), HasSubstr("zip archive"));
  EXPECT_THAT(told("cases.csv", "image,patient\na,b\n"), HasSubstr("data.kind=list data.list=FILE"));
  EXPECT_THAT(told("my.yaml", "train: {length: 1ep}"), HasSubstr("-c FILE"));
  EXPECT_THAT(told("machine.json", "{}"), HasSubstr("plan --hardware"));
  EXPECT_THAT(told("empty.nii.gz", ""), HasSubstr("is empty"));
  EXPECT_THAT(told("page.nii.gz", "<!DOCTYPE html>"), HasSubstr("web page"));
  EXPECT_THAT(told("pointer.nii.gz", "version https://git-lfs.github.com/spec/v1"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(told("head.nrrd", "MRRD0004\n"),
              AllOf(HasSubstr("called like an NRRD image"), HasSubstr("fetch")));
  EXPECT_THAT(told("head.mhd", "hello"), HasSubstr("called like a MetaImage"));
  EXPECT_THAT(told("notes", "hello\nthere"), AllOf(HasSubstr("is text"), HasSubstr("\"hello\"")));
  EXPECT_THAT(told("run/config.yaml", "a: 1"), HasSubstr("configuration"));
}

TEST_F(MistakenFiles, AreToldByTheirFirstBytesWhateverTheyAreCalled) {
  const std::string zeros(300, '\0');
  std::string tar = zeros;
  tar.replace(257, 5, "ustar");
  const std::pair<std::string, const char*> rows[] = {
      {std::string("II*\0", 4) + zeros, "TIFF"},
      {std::string("MM\0*", 4) + zeros, "TIFF"},
      {"RIFF\x10\x20\x01\x02WEBPVP8 " + zeros, "WebP"},
      {"BM" + zeros, "BMP"},
      {"GIF89a" + zeros, "GIF"},
      {std::string("\0\0\0\x18", 4) + "ftypheic" + zeros, "HEIC"},
      {std::string("\0\0\0\x0cjP  ", 8) + zeros, "JPEG 2000"},
      {"CDF\x01" + zeros, "MINC"},
      {"/annex/objects/SHA256E-s1--ab.nii.gz\n", "git annex get"},
      {"<!doctype html>", "web page"},
      {"\xd0\xcf\x11\xe0" + zeros, "workbook of Excel"},
      {"PK\x03\x04 xl/workbook.xml", "workbook of Excel"},
      {"\x80\x05\x95" + zeros, "pickle"},
      {"PAR1" + zeros, "Parquet"},
      {tar, "archive"},
      {"BZh9" + zeros, "bunzip2"}};
  for (const auto& [bytes, what] : rows) {
    for (const char* name : {"head.png", "head.nii", "head.dcm", "head"})
      EXPECT_THAT(told(name, bytes), HasSubstr(what)) << name;
  }
}

// What training, predict and inspect say of such a file is the same.
TEST_F(MistakenFiles, AreToldByWhoReadsThemAsAnImage) {
  const std::pair<const char*, const char*> rows[] = {
      {"CDF\x01", "is a MINC image"},
      {"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"},
      {"PK\x03\x04 archive/data.pkl", "is a file of PyTorch"},
      {"hello\n", "is text, not an image"}};
  for (const auto& [bytes, what] : rows) {
    told("file", bytes);
    const auto error = error_of([&] { read_volume(scratch_.path() / "file"); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message(), HasSubstr(what));
    EXPECT_THAT(error->hint(), ::testing::Not(::testing::IsEmpty()));
    EXPECT_EQ(inspect_file(scratch_.path() / "file").remedy, error->hint());
  }
}

TEST_F(MistakenFiles, AreNoImagesWholeOrNot) {
  EXPECT_EQ(told("head.nii", NiftiBytes().whole()), "");
  EXPECT_EQ(told("cut.nii", NiftiBytes().whole().substr(0, 360)), "");
  EXPECT_EQ(told("cut.nrrd", "NRRD0004\n"), "");
  EXPECT_EQ(told("cut.nii", "NDims = 3\n"), "");
  EXPECT_EQ(told("cut.npz", "PK\x03\x04 a.npy"), "");
  EXPECT_EQ(told("rubbish.nii", std::string("\x01\x02\x03\x00", 4)), "");
  EXPECT_FALSE(mistaken_file(scratch_.path() / "absent").has_value());
  EXPECT_FALSE(mistaken_file("/dev/null").has_value());
  EXPECT_FALSE(mistaken_file(scratch_.path()).has_value());
}

TEST_F(MistakenFiles, MayBeFoldersOfRunsAndCheckpoints) {
  for (const auto* name :
       {"run/config.yaml", "run/plan.json", "step/manifest.json", "step/model.safetensors"})
    told(name, "{}");
  EXPECT_THAT(mistaken_file(scratch_.path() / "run")->what, HasSubstr("folder of a run"));
  EXPECT_THAT(mistaken_file(scratch_.path() / "step")->what, HasSubstr("checkpoint"));
}

}  // namespace
}  // namespace larmor::testing

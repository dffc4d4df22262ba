#include "larmor/run/data_block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CaseFolder;
using ::testing::HasSubstr;

TEST(DataBlock, SaysWhatARunTrainsOn) {
  CaseFolder folder;
  for (int i = 0; i < 6; ++i) folder.volume(text("train/p", i, ".nii.gz"));
  folder.volume("val/p7.nii.gz").volume("val/p8.nii.gz").file("val/notes.txt", "").file("readme.txt", "");
  RunConfig config;
  config.data.folder = folder.path().string();
  config.data.exclude = {"*/derivatives/*"};
  const Index index = make_index(config.data, 1);
  const Json block = data_block(
      index, config, {.steps = 600, .checkpoint_bytes = uint64_t{1} << 20, .cache_bytes = std::nullopt});
  EXPECT_EQ(block.at("splits").at("train"), (Json{{"patients", 6}, {"cases", 6}, {"files", 6}}));
  EXPECT_EQ(block.at("splits").at("val").at("cases").get<int>(), 2);
  EXPECT_EQ(block.at("first").at("shape"), Json({2, 3, 4}));
  EXPECT_EQ(block.at("examples").size(), 3U);
  EXPECT_EQ(block.at("steps").get<int>(), 600);
  EXPECT_EQ(block.at("bytes").at("checkpoints").get<int>(), 3 << 20);
  EXPECT_EQ(block.at("passed_over").at(0),
            (Json{{"reason", "another kind of file (*.txt)"}, {"count", 2}, {"example", "readme.txt"}}));
  EXPECT_THAT(lines_of_data(block).shown(),
              AllOf(HasSubstr("train           6         6         6"), HasSubstr("2 x 3 x 4 voxels of"),
                    HasSubstr("passed over: 2 files"), HasSubstr("600 steps"),
                    HasSubstr("data.exclude has */derivatives/*, which fits no file")));
}

TEST(DataBlock, CountsCasesByModality) {
  CaseFolder folder;
  for (const char* const patient : {"p1", "p2", "p3"}) folder.volume(text(patient, "/x-t1.nii"));
  folder.volume("p1/x-t2.nii");
  DataConfig data;
  data.folder = folder.path().string();
  data.modalities = parse_json(R"({"t1": "t1", "t2": "t2"})", "modalities");
  const Index index = make_index(data, 1);
  const Json block = data_block(index, {}, {});
  EXPECT_EQ(block.at("modalities").at("t1").get<int>(), 3);
  EXPECT_THAT(index.account->warnings, ::testing::Contains("2 of 3 cases have no t2"));
}

}  // namespace
}  // namespace larmor

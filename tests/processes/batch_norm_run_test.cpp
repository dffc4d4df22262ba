// Ranks that count together within forward and backward, and one of them that cannot go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Twelve patients, eight of them for training; one of these has an image whose last bytes lie.
void put_cohort(const std::filesystem::path& folder, int spoilt) {
  std::string table = "image,time,event,split\n";
  for (int i = 0; i < 12; ++i) {
    auto packed = gzipped(nifti_bytes({.size = {10, 9, 8}, .voxels = 10 * 9 * 8, .number = i}));
    if (i == spoilt) packed[packed.size() - 8] ^= 0x01;  // the checksum
    put_file(folder / text(i, ".nii.gz"), packed);
    table +=
        text(i, ".nii.gz,", 200 + 100 * i, ",", i % 4 == 0 ? 0 : 1, ",", i % 3 == 2 ? "val" : "train", "\n");
  }
  put_file(folder / "list.csv", table);
}

std::vector<std::string> train_on_two_ranks(const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"train",
                                 "survival",
                                 "data.list=list.csv",
                                 "model.depth=10",
                                 "model.widen_factor=0.125",
                                 "model.norm=batch",
                                 "data.transforms=[{Resize: {spatial_size: [8, 8, 8], mode: area}}]",
                                 "train.global_batch=4",
                                 "train.length=8st",
                                 "run.name=run",
                                 "--ranks",
                                 "2"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(BatchNormRun, CountsOverBothRanks) {
  const ScratchFolder scratch;
  put_cohort(scratch.path(), /*spoilt=*/-1);
  const auto end = larmor_program(train_on_two_ranks(), {.folder = scratch.path()});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(read_text(scratch.path() / "runs/run/plan.json"), HasSubstr("\"sync_batch_norm\": true"));
}

TEST(BatchNormRun, EndsWithTheErrorOfTheRankThatFailedWhileTheOtherCounts) {
  for (const std::string strategy : {"ddp", "dp"}) {
    SCOPED_TRACE(strategy);
    const ScratchFolder scratch;
    put_cohort(scratch.path(), /*spoilt=*/4);
    Running run(train_on_two_ranks({"data.bad_files=0", "parallel.strategy=" + strategy}),
                {.folder = scratch.path()});
    ASSERT_TRUE(run.ends_within(100)) << "the limit of a collective is ten minutes";
    const auto end = run.wait();
    constexpr int data = 3;
    EXPECT_EQ(end.status, data) << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr("4.nii.gz"), HasSubstr("data.bad_files allows 0")));
  }
}

}  // namespace
}  // namespace larmor::testing

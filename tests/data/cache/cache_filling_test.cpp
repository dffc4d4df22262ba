#include "larmor/data/cache/cache_filling.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::HasSubstr;

class FillingTheCache : public ::testing::Test {
 protected:
  FillingTheCache() {
    for (int i = 0; i < 10; ++i) folder_.volume("case" + std::to_string(i) + ".nii", i);
    data_.folder = folder_.path().string();
    data_.cache = "full";
    data_.cache_folder = store_.path().string();
    data_.exclude = {"bad*"};
  }
  /// Of all three splits.
  void open() {
    const Index index = make_index(data_, 1);
    for (const Split split : {Split::train, Split::val, Split::test})
      owned_.push_back(make_volume_dataset(data_, index, split, Json::array()));
    for (const auto& dataset : owned_) datasets_.push_back(dataset.get());
  }
  CacheFilling fill(int threads) {
    return fill_cache(datasets_, threads, [](int64_t, int64_t) {});
  }

  CaseFolder folder_;
  ScratchFolder store_;
  DataConfig data_;
  std::vector<std::unique_ptr<PreparableDataset>> owned_;
  std::vector<const PreparableDataset*> datasets_;
};

TEST_F(FillingTheCache, PreparesEveryExampleOfEverySplit) {
  open();
  const CacheForecast forecast = forecast_cache(datasets_);
  const CacheFilling filling = fill(3);
  EXPECT_EQ(filling.kept, 10);
  EXPECT_EQ(filling.folder, store_.path());
  EXPECT_TRUE(filling.bad.empty());
  EXPECT_EQ(forecast.cases, 10);
  EXPECT_EQ(forecast.needed_bytes, filling.bytes);
  EXPECT_EQ(datasets_.front()->cache_place().present_bytes, filling.bytes);
  for (const auto* dataset : datasets_) {
    for (int64_t example = 0; example < dataset->size(); ++example)
      EXPECT_TRUE(dataset->is_prepared(example));
  }
}

TEST_F(FillingTheCache, ListsEveryBadExampleAndPreparesTheOthers) {
  data_.exclude.clear();
  for (const char* const name : {"bad1.nii", "bad2.nii", "bad3.nii"}) folder_.file(name, "no image");
  open();
  const CacheFilling filling = fill(2);
  EXPECT_EQ(filling.kept, 10);
  ASSERT_EQ(filling.bad.size(), 3U);
  for (const BadFile& file : filling.bad) EXPECT_THAT(file.path, HasSubstr("bad"));
  EXPECT_GT(forecast_cache(datasets_).needed_bytes, 0U) << "whichever example comes first";
}

TEST_F(FillingTheCache, CountsWhatFindsNoRoom) {
  data_.budget_bytes = 1000;
  open();
  ::testing::internal::CaptureStderr();
  const CacheFilling filling = fill(1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("data.budget"));
  EXPECT_GT(filling.without_room, 0);
  EXPECT_EQ(filling.kept + filling.without_room, 10);
  EXPECT_LE(filling.bytes, 1000U);
}

TEST_F(FillingTheCache, EndsWithTheFirstErrorThatIsNoBadFile) {
  class Broken final : public PreparableDataset {
   public:
    int64_t size() const override { return 100; }
    int64_t cases() const override { return 100; }
    std::string case_name(int64_t) const override { return "one"; }
    Sample get(const ExampleKey&) const override { return {}; }
    std::string name(int64_t) const override { return "one"; }
    uint64_t prepare(int64_t) const override { fail(Exit::environment, "no memory"); }
    bool is_prepared(int64_t) const override { return false; }
    CachePlace cache_place() const override { return {}; }
  };
  const Broken broken;
  datasets_ = {&broken};
  const auto error = testing::error_of([&] { fill(4); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message(), "no memory");
}

TEST_F(FillingTheCache, IsUndoneByCleaning) {
  open();
  const CacheFilling filling = fill(2);
  EXPECT_EQ(clean_cache(data_).in_use, 10);
  owned_.clear();
  const CacheCleaning cleaning = clean_cache(data_);
  EXPECT_EQ(cleaning.removed, 10);
  EXPECT_EQ(cleaning.bytes, filling.bytes);
  EXPECT_EQ(clean_cache(data_).removed, 0);
}

TEST(CacheForecast, SaysWhetherDiskAndMemoryAreEnough) {
  CacheForecast forecast{"/cache", 100, uint64_t{10} << 30, uint64_t{1} << 30, uint64_t{50} << 30};
  EXPECT_EQ(forecast.sentence(uint64_t{32} << 30),
            "the prepared cache of 100 cases takes about 10 GiB in /cache, which may hold 50 GiB and holds 1 "
            "GiB; 32 GiB of memory hold it once it has been read");
  EXPECT_THAT(forecast.sentence(uint64_t{8} << 30), HasSubstr("more than the 8 GiB of memory"));
  forecast.budget_bytes = uint64_t{5} << 30;
  EXPECT_THAT(forecast.sentence(uint64_t{32} << 30), HasSubstr("about 50 of them fit"));
}

}  // namespace
}  // namespace larmor

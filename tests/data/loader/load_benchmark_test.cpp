#include "larmor/data/loader/load_benchmark.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

const Json chain = Json::parse(R"([
    {"LoadImage": {}}, "EnsureChannelFirst", {"Orientation": {"axcodes": "RAS"}}, {"Spacing": {"pixdim": 1}},
    {"RandSpatialCrop": {"roi_size": 2}},
    {"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 99, "b_min": 0, "b_max": 1}}])");

Index index_of(const testing::CaseFolder& cases) {
  DataConfig data;
  data.folder = cases.path().string();
  return make_index(data, 0);
}

TEST(LoadBenchmark, TimesEveryStageOfEveryCaseUnderTheNamesOfThePeersScript) {
  testing::CaseFolder cases;
  cases.volume("a.nii.gz", 1).volume("b.nii", 2).volume("c.nii", 3);
  int rounds = 0;
  const auto times = time_loading(index_of(cases), chain, /*repeats=*/2, [&](int, int) { ++rounds; });
  EXPECT_EQ(times.volumes, 3);
  EXPECT_EQ(rounds, 3) << "one to warm up";
  std::vector<std::string> stages;
  for (const auto& [stage, milliseconds] : times.mean_ms) {
    stages.push_back(stage);
    EXPECT_GE(milliseconds, 0) << stage;
  }
  EXPECT_THAT(stages,
              ElementsAre("chain", "channel_first", "crop", "load", "orientation", "percentile", "spacing"));
  EXPECT_GT(times.mean_ms.at("load"), 0);
}

TEST(LoadBenchmark, TimesSamplesBehindAnEpochThatFillsTheCache) {
  class Slow final : public Dataset {
   public:
    int64_t size() const override { return 3; }
    std::string name(int64_t) const override { return "one"; }
    Sample get(const ExampleKey& key) const override {
      std::this_thread::sleep_for(std::chrono::milliseconds(key.epoch == 0 ? 60 : 2));
      return {};
    }
  };
  const double milliseconds = time_samples(Slow(), 1, 3);
  EXPECT_GE(milliseconds, 2);
  EXPECT_LT(milliseconds, 60);
}

TEST(LoadBenchmark, NamesTheFileThatCannotBeRead) {
  testing::CaseFolder cases;
  cases.volume("a.nii").volume("b.nii");
  const auto index = index_of(cases);
  cases.file("b.nii", "no volume");
  const auto error = testing::error_of([&] { time_loading(index, chain, 1, [](int, int) {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), ::testing::HasSubstr("b.nii"));
}

TEST(LoadBenchmark, RefusesWhatIsNotLoadedFromFiles) {
  DataConfig data;
  data.kind = "phantom";
  const auto error = testing::error_of([&] { time_loading(make_index(data, 0), chain, 1, [](int, int) {}); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::usage);
}

}  // namespace
}  // namespace larmor

#include "workloads/survival/risk/risk_stage.h"

#include <gtest/gtest.h>

namespace larmor::survival {
namespace {

Case invented_image(int64_t number, const std::string& patient) {
  Case entry;
  entry.files["image"] = "cohort-000" + std::to_string(number);
  entry.patient = patient;
  entry.split = Split::val;
  entry.values = {{"time", 100.0 + static_cast<double>(number)}, {"event", 1}};
  return entry;
}

TEST(RiskStage, SaysWhoseImageEachExampleIs) {
  RunConfig config;
  config.data.kind = "cohort";
  config.data.transforms = Json::array();
  Index index;
  index.kind = "cohort";
  index.cases = {invented_image(0, "anna"), invented_image(1, "berta"), invented_image(2, "anna")};
  const RiskStage stage;
  const auto dataset = stage.dataset(config, index, Split::val);
  ASSERT_EQ(dataset->size(), 3);
  EXPECT_EQ(dataset->patient(0), "anna");
  EXPECT_EQ(dataset->patient(1), "berta");
  EXPECT_EQ(dataset->patient(2), "anna");
}

}  // namespace
}  // namespace larmor::survival

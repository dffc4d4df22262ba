#include "workloads/survival/risk/risk_stage.h"

#include <ATen/ATen.h>
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

TEST(RiskStage, SaysInEachSampleWhoseImageItIs) {
  RunConfig config;
  config.data.kind = "cohort";
  config.data.transforms = Json::array();
  Index index;
  index.kind = "cohort";
  index.cases = {invented_image(0, "anna"), invented_image(1, "berta"), invented_image(2, "anna")};
  const auto frozen = index.sha256();
  const RiskStage stage;
  const auto dataset = stage.dataset(config, index, Split::val);
  ASSERT_EQ(dataset->size(), 3);
  const auto patient_of = [&](int64_t example) {
    return dataset->get({.seed = 1, .epoch = 0, .example = example}).at("patient").item<double>();
  };
  EXPECT_EQ(patient_of(0), patient_of(2));
  EXPECT_NE(patient_of(0), patient_of(1));
  EXPECT_EQ(index.sha256(), frozen) << "a run's index is what it was";
}

}  // namespace
}  // namespace larmor::survival

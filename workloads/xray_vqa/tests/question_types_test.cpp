#include "workloads/xray_vqa/data/question_types.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::xray_vqa {
namespace {

const QuestionType& type_called(std::string_view name) {
  return question_types()[static_cast<std::size_t>(find_question_type(name))];
}

TEST(QuestionTypes, EveryTypeOfThePublishedListReachesItsHead) {
  const std::map<std::string, Head> published = {{"C03_is_abnormal_region", Head::binary},
                                                 {"C04_is_normal_region", Head::binary},
                                                 {"C08_has_region_device", Head::binary},
                                                 {"D02_has_finding", Head::binary},
                                                 {"D06_has_device", Head::binary},
                                                 {"B10_is_abnormal_subcat", Head::binary},
                                                 {"B11_is_normal_subcat", Head::binary},
                                                 {"B13_has_devices", Head::binary},
                                                 {"C01_describe_region", Head::region},
                                                 {"C02_describe_abnormal_region", Head::region},
                                                 {"D03_where_is_finding", Head::region},
                                                 {"D07_where_is_device", Head::region},
                                                 {"D04_how_severe_is_finding", Head::severity},
                                                 {"D01_describe_finding", Head::category},
                                                 {"D05_describe_device", Head::category},
                                                 {"C07_describe_region_device", Head::category},
                                                 {"B08_describe_subcat", Head::category},
                                                 {"B09_describe_abnormal_subcat", Head::category},
                                                 {"B12_describe_device", Head::category},
                                                 {"A_indication", Head::category}};
  for (const auto& [name, head] : published) EXPECT_EQ(type_called(name).head, head) << name;
}

TEST(QuestionTypes, ThoseThatNoHeadAnswersAreKnownAllTheSame) {
  for (const char* const name :
       {"B01_describe_all", "B02_describe_abnormal", "B03_is_abnormal", "B04_is_normal", "B15_x", "B16_y"}) {
    EXPECT_EQ(type_called(name).head, Head::none) << name;
  }
}

TEST(QuestionTypes, TheNameAfterThePrefixIsEnough) {
  EXPECT_EQ(type_called("has_finding").name, "D02_has_finding");
  EXPECT_EQ(type_called("D99_has_finding").name, "D02_has_finding");
  EXPECT_EQ(type_called("where_is_finding").head, Head::region);
  EXPECT_EQ(type_called("HAS_FINDING").name, "D02_has_finding");
  EXPECT_EQ(type_called("indication").head, Head::category);
}

TEST(QuestionTypes, OlderShortNamesAreTakenByTheirBeginning) {
  EXPECT_EQ(type_called("how_severe").name, "D04_how_severe_is_finding");
  EXPECT_EQ(type_called("where_is_finding").name, "D03_where_is_finding");
}

TEST(QuestionTypes, AnotherTypeIsUnknown) {
  for (const char* const name : {"", "_", "Z77_sing_a_song", "D02_", "has", "D02"})
    EXPECT_EQ(find_question_type(name), unknown_question_type()) << name;
}

TEST(QuestionTypes, TheReportCountsWhatWentWhere) {
  std::vector<int64_t> counts(question_types().size());
  counts[static_cast<std::size_t>(find_question_type("D02_has_finding"))] = 7;
  counts[static_cast<std::size_t>(find_question_type("D04_how_severe_is_finding"))] = 2;
  counts[static_cast<std::size_t>(unknown_question_type())] = 3;
  EXPECT_EQ(routing_report(counts),
            "9 of 12 questions have a head (binary 7, category 0, region 0, severity 2)");
}

}  // namespace
}  // namespace larmor::xray_vqa

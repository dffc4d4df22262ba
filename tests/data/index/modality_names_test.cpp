#include "larmor/data/index/modality_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

ModalityNames names_of(const char* declared) { return ModalityNames(parse_json(declared, "modalities")); }

TEST(ModalityNames, AreEndingsBehindAMark) {
  const auto names = names_of(R"({"t1n": ["t1", "t1n"], "t1c": "t1ce"})");
  EXPECT_EQ(names.match("BraTS-GLI-00000-000-t1n")->id, "BraTS-GLI-00000-000");
  EXPECT_EQ(names.match("case_T1")->modality, "t1n");
  EXPECT_EQ(names.match("case.t1ce")->modality, "t1c");
  EXPECT_EQ(names.match("t1")->id, "") << "the whole name";
  EXPECT_FALSE(names.match("caset1"));
  EXPECT_FALSE(names.match("t1-case"));
}

TEST(ModalityNames, KeepTheOrderAndLeaveLabelsOutOfTheChannels) {
  EXPECT_THAT(names_of(R"({"t2": "t2", "label": "seg", "mask_brain": "bet", "t1": "t1"})").channels(),
              ElementsAre("t2", "t1"));
  EXPECT_TRUE(ModalityNames(Json()).empty());
}

TEST(ModalityNames, AreRefusedWhereTheySayNothingOrTwoThings) {
  for (const char* const wrong : {R"([1])", R"({"t1": []})", R"({"t 1": "a"})", R"({"t1": {"a": 1}})",
                                  R"({"t1": "a", "t2": "A"})", R"({"t1": ""})"}) {
    const auto error = error_of([&] { names_of(wrong); });
    ASSERT_TRUE(error) << wrong;
    EXPECT_EQ(error->exit(), Exit::usage);
    EXPECT_THAT(error->message(), HasSubstr("data.modalities"));
  }
}

}  // namespace
}  // namespace larmor

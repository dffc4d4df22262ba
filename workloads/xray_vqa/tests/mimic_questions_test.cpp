#include "workloads/xray_vqa/data/mimic_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/question_tables.h"
#include "workloads/xray_vqa/tests/made_up_mimic.h"

#include "tests/support/image_files.h"

namespace larmor::xray_vqa {
namespace {

using larmor::testing::write_file;
using ::testing::HasSubstr;

class MimicTables : public ::testing::Test {
 protected:
  MimicQuestions from() const {
    return {.images = mimic_.images(),
            .documents = mimic_.documents(),
            .tables = scratch_.path() / "tables",
            .worst = Grade::b,
            .part_studies = 2};
  }
  BuiltQuestions build(const MimicQuestions& questions) {
    return build_mimic_questions(storage_, questions,
                                 [&](const WorkProgress& progress) { last_shown_ = progress; });
  }
  BuiltQuestions build() { return build(from()); }
  std::string refusal(const MimicQuestions& questions) {
    try {
      build(questions);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message() + " / " + error.hint();
    }
    return "not refused";
  }

  ScratchFolder scratch_;
  MadeUpMimic mimic_{scratch_.path() / "data"};
  DiskStorage storage_;
  WorkProgress last_shown_;
};

TEST_F(MimicTables, TakeTheQuestionsThatAHeadCanLearn) {
  const auto built = build();
  EXPECT_EQ(last_shown_.done, 6);
  EXPECT_EQ(last_shown_.all, 6);
  EXPECT_EQ(last_shown_.rows, built.tables.at(1).rows);
  EXPECT_EQ(last_shown_.bytes, built.json_bytes);
  EXPECT_EQ(last_shown_.found_done, 0);
  const QuestionTables tables(built.tables);
  ASSERT_EQ(tables.studies(), 5);  // study 3 has no frontal image
  EXPECT_EQ(tables.questions(), 20);
  EXPECT_EQ(tables.questions_of(0), 4);
  const auto first = tables.question(0);
  EXPECT_EQ(first.question, "Is there an effusion? Caf\xc3\xa9 1");
  EXPECT_EQ(first.answer, 1);
  EXPECT_EQ(first.grade, Grade::a_plus_plus);
  EXPECT_EQ(tables.question(1).answer, 0);  // is it normal? the finding is positive
  EXPECT_EQ(tables.question(2).question, "Where is the \"effusion\"?");
  EXPECT_EQ(tables.question(2).answer, 1);
  EXPECT_EQ(tables.question(3).answer, 2);
  EXPECT_EQ(tables.question(4).answer, 0);  // of study 2 the finding is negative
}

TEST_F(MimicTables, CountWhatIsLeftOutAndWhy) {
  const auto built = build();
  EXPECT_EQ(built.left_out.at("below the grade"), 5);
  EXPECT_EQ(built.left_out.at("type without a head"), 5);
  EXPECT_EQ(built.left_out.at("unknown type"), 5);
  EXPECT_EQ(built.left_out.at("empty text"), 5);
  EXPECT_EQ(built.left_out.at("no class fits the answer"), 5);
  EXPECT_EQ(built.left_out.at("study without an image"), 9);
  EXPECT_EQ(built.left_out.at("boxes outside the image"), 5);
  EXPECT_THAT(built.sentence, HasSubstr("20 of 20 questions have a head"));
  EXPECT_THAT(built.sentence, HasSubstr("study without an image: 9"));
}

TEST_F(MimicTables, CallNoFindingByAnothersNameAndNoUnknownDegreeNone) {
  const auto ask = [](const char* type, const Json& answer) {
    return MadeUpMimic::question(type, "What of it?", "1", answer);
  };
  const Json questions = {ask("D01_describe_finding", {{"obs_entities", {"tortuous aorta"}}}),
                          ask("D01_describe_finding", {{"obs_entities", {"pleural effusion"}}}),
                          ask("D04_how_severe_is_finding", {{"text", "Borderline."}}),
                          ask("D04_how_severe_is_finding", {{"text", "None."}})};
  write_file(mimic_.document(1), Json({{"questions", questions}}).dump());
  write_file(mimic_.documents() / "metadata" / "dataset_info.json",
             R"({"regions": ["left lung"], "finding_entities": ["tortuous aorta", "pleural effusion"]})");
  const auto built = build();
  EXPECT_EQ(built.left_out.at("finding that is none of CheXpert's labels"), 1);
  EXPECT_EQ(built.left_out.at("severity that no word tells"), 1);
  EXPECT_THAT(built.sentence, HasSubstr("finding that is none of CheXpert's labels: 1"));
  const QuestionTables tables(built.tables);
  ASSERT_EQ(tables.questions_of(0), 2);
  EXPECT_EQ(tables.question(0).answer, 8);
  EXPECT_EQ(tables.question(1).answer, 0);
}

TEST_F(MimicTables, KnowTheStudysImageLabelsAndSplit) {
  const QuestionTables tables(build().tables);
  const Study first = tables.study(0), last = tables.study(4);
  EXPECT_EQ(first.image, "files/p10/p10000001/s50000001/pa1.jpg");
  EXPECT_EQ(first.patient, "p10000001");
  EXPECT_EQ(first.split, Split::train);
  EXPECT_EQ(last.split, Split::test);
  EXPECT_TRUE(first.labels[8].counts && first.labels[8].value == 1);
  EXPECT_TRUE(first.labels[3].counts && first.labels[3].value == 0);
  EXPECT_FALSE(first.labels[9].counts);                             // uncertain
  EXPECT_TRUE(last.labels[9].counts && last.labels[9].value == 1);  // by a radiologist
}

TEST_F(MimicTables, TakeBoxesOfTheWantedImageAsSharesOfIt) {
  const auto objects = QuestionTables(build().tables).objects(0);
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0], (SceneObject{{0.25F, 0.25F, 0.75F, 0.75F}, 2, 2}));
  EXPECT_EQ(objects[1], (SceneObject{{0, 0, 1, 1}, 0, 0}));  // outside of the image, of nothing that is known
}

TEST_F(MimicTables, TheGradeSaysWhatIsTaken) {
  auto best = from();
  best.worst = Grade::a;
  EXPECT_EQ(build(best).tables.at(1).rows, 15);
  auto all = from();
  all.all_grades = true;
  EXPECT_EQ(build(all).tables.at(1).rows, 25);
}

TEST_F(MimicTables, AllViewsGiveEveryStudyAnImage) {
  auto all = from();
  all.views = Views::all;
  const QuestionTables tables(build(all).tables);
  ASSERT_EQ(tables.studies(), 6);
  EXPECT_EQ(tables.study(2).image, "files/p10/p10000003/s50000003/lat3.jpg");
}

TEST_F(MimicTables, ArchivesGiveTheSameRowsAsFolders) {
  const auto before = build();
  mimic_.zip();
  const auto zipped = build();
  EXPECT_EQ(zipped.tables.at(0).sha256, before.tables.at(0).sha256);
  EXPECT_EQ(zipped.tables.at(1).sha256, before.tables.at(1).sha256);
  EXPECT_GT(zipped.json_bytes, 0u);
}

TEST_F(MimicTables, WhatIsDoneIsNotReadAgain) {
  const auto first = build(), second = build();
  EXPECT_GT(first.json_bytes, 0u);
  EXPECT_EQ(second.json_bytes, 0u);
  EXPECT_EQ(last_shown_.found_done, last_shown_.done);
  EXPECT_EQ(last_shown_.rows, second.tables.at(1).rows);
  EXPECT_EQ(second.tables, first.tables);
  EXPECT_EQ(second.left_out, first.left_out);
  EXPECT_EQ(second.by_type, first.by_type);
  write_file(mimic_.document(4), MadeUpMimic::qa_document(4).dump(3));
  const auto third = build();
  EXPECT_GT(third.json_bytes, 0u);
  EXPECT_LT(third.json_bytes, first.json_bytes);  // one part of three
  EXPECT_EQ(third.tables, first.tables);
}

TEST_F(MimicTables, AnInterruptedBuildGoesOn) {
  EXPECT_THROW(build_mimic_questions(storage_, from(),
                                     [](const WorkProgress& progress) {
                                       if (progress.done > 4) fail(Exit::stopped, "in the third part");
                                     }),
               Error);
  const auto after = build();
  EXPECT_EQ(after.tables.at(1).rows, 20);
  EXPECT_LT(after.json_bytes, 2u * 6000u);
}

TEST_F(MimicTables, DamagedDocumentsAreListedWithinTheBudget) {
  const std::string whole = MadeUpMimic::qa_document(2).dump();
  write_file(mimic_.document(2), whole.substr(0, whole.size() / 2));
  const auto built = build();
  ASSERT_EQ(built.bad.size(), 1u);
  EXPECT_EQ(built.bad.front().path, "qa/p10/p10000002/s50000002.qa.json");
  EXPECT_THAT(built.bad.front().reason, HasSubstr("cut short"));
  EXPECT_EQ(QuestionTables(built.tables).studies(), 4);
  EXPECT_EQ(build().bad, built.bad);  // remembered
  auto strict = from();
  strict.bad_files = 0;
  EXPECT_THAT(refusal(strict), HasSubstr("s50000002.qa.json"));
}

TEST_F(MimicTables, ADamagedArchiveIsRefused) {
  mimic_.zip();
  const auto archive = mimic_.documents() / "qa.zip";
  std::filesystem::resize_file(archive, std::filesystem::file_size(archive) - 40);
  EXPECT_THAT(refusal(from()), HasSubstr("qa.zip"));
}

TEST_F(MimicTables, MovedColumnsAreRefusedWithThoseThatThereAre) {
  write_file(mimic_.images() / "mimic-cxr-2.0.0-split.csv.gz",
             "dicom,study_id,subject_id,split\na,1,2,train\n");
  EXPECT_THAT(refusal(from()), HasSubstr("no column dicom_id, only dicom, study_id"));
}

TEST_F(MimicTables, WhatIsNotThereIsRefusedWithARemedy) {
  std::filesystem::remove(mimic_.documents() / "metadata" / "dataset_info.json");
  EXPECT_THAT(refusal(from()), HasSubstr("dataset_info.json"));
  std::filesystem::remove(mimic_.images() / "mimic-cxr-2.0.0-chexpert.csv.gz");
  EXPECT_THAT(refusal(from()), HasSubstr("no table mimic-cxr-*-chexpert.csv.gz"));
}

TEST_F(MimicTables, GradesThatCannotBeDecodedLeaveNothing) {
  write_file(mimic_.documents() / "quality_mappings.csv", "code,grade\n77,A\n");
  EXPECT_THAT(refusal(from()), HasSubstr("grade not decoded: 45"));
  write_file(mimic_.documents() / "quality_mappings.csv", "one,two\n77,A\n");
  EXPECT_THAT(refusal(from()), HasSubstr("no column for the codes"));
}

TEST_F(MimicTables, MoreRegionsThanTheNetworkHasAreRefused) {
  std::vector<std::string> names;
  for (int i = 0; i < 311; ++i) names.push_back(text("region ", i));
  write_file(mimic_.documents() / "metadata" / "dataset_info.json",
             Json({{"regions", names}, {"finding_entities", {"nodule"}}}).dump());
  EXPECT_THAT(refusal(from()), HasSubstr("regions has 311 names"));
}

}  // namespace
}  // namespace larmor::xray_vqa

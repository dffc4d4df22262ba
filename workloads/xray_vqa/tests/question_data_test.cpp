#include "workloads/xray_vqa/data/question_data.h"

#include <set>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/question_dataset.h"
#include "workloads/xray_vqa/data/sample.h"
#include "workloads/xray_vqa/tests/made_up_mimic.h"

#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor::xray_vqa {
namespace {

using larmor::testing::write_file;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QuestionSets : public ::testing::Test {
 protected:
  QuestionSets() {
    questions_.documents = mimic_.documents().string();
    questions_.vocabulary = mimic_.vocabulary().string();
    questions_.sizes = {.image = 16, .question = 8, .objects = 3};
    data_.kind = mimic_kind;
    data_.folder = mimic_.images().string();
    data_.cache_folder = (scratch_.path() / "cache").string();
  }

  ScratchFolder scratch_;
  MadeUpMimic mimic_{scratch_.path() / "data"};
  QuestionData questions_;
  DataConfig data_;
};

TEST_F(QuestionSets, HaveTheStudiesAsCasesAndTheQuestionsAsRows) {
  const Index index = question_index(questions_, data_, 1);
  EXPECT_EQ(index.cases.size(), 5u);
  EXPECT_EQ(index.of(Split::train).size(), 3u);
  ASSERT_EQ(index.tables.size(), 2u);
  EXPECT_EQ(index.table("questions").rows, 15);
  EXPECT_EQ(count_questions(questions_, index, Split::train), 9);
  EXPECT_EQ(question_index(questions_, data_, 1).sha256(), index.sha256());
  questions_.quality_grade = "B";
  EXPECT_NE(question_index(questions_, data_, 1).sha256(), index.sha256());
}

TEST_F(QuestionSets, TellTheQuestionInWordsAndTheShapeOfThePicture) {
  const auto cases = question_dataset(questions_, data_, question_index(questions_, data_, 1), Split::train);
  const Caption first = cases->caption(0), second = cases->caption(1);
  EXPECT_THAT(first.words, HasSubstr("Is there an effusion?"));
  EXPECT_NE(first.words, second.words);
  EXPECT_EQ(first.shape, 0) << "nobody has read it";
  cases->get({.seed = 1, .epoch = 0, .example = 0});
  EXPECT_EQ(cases->caption(0).shape, 2) << "40 columns and 20 rows, whatever the network is given";
}

TEST_F(QuestionSets, ShowAnsweredQuestionsOfStudiesOneAfterTheOther) {
  const auto cases = question_dataset(questions_, data_, question_index(questions_, data_, 1), Split::train);
  std::set<std::string> studies;
  for (const int64_t example : cases->shown(1)) {
    EXPECT_TRUE(studies.insert(cases->name(example)).second) << "each study once";
    EXPECT_GE(cases->get({.seed = 1, .epoch = 0, .example = example}).at(sample::answer).item<int64_t>(), 0);
  }
  EXPECT_EQ(studies.size(), 3U);
}

TEST(ShownQuestions, AreOfEightStudiesAndOfDifferentPlacesInThem) {
  // Ten studies of three questions, of which study 1 has one that is answered, and study 2 none.
  const auto study_of = [](int64_t example) { return example / 3; };
  const auto is_answered = [](int64_t example) { return example < 4 || example > 8; };
  EXPECT_THAT(shown_questions(30, 1, study_of, is_answered), ElementsAre(0, 3, 11, 12, 16, 20, 21, 25));
  for (const int64_t example : shown_questions(30, 2, study_of, is_answered)) EXPECT_EQ(example % 2, 0);
  EXPECT_TRUE(shown_questions(0, 1, study_of, is_answered).empty());
  EXPECT_TRUE(shown_questions(30, 1, study_of, [](int64_t) { return false; }).empty());
}

TEST_F(QuestionSets, OfTablesThatAreThereAreReadThoughAnotherProcessHoldsThem) {
  const Index index = question_index(questions_, data_, 1);
  const auto folder = index.table("questions").file.parent_path();
  const auto list = std::filesystem::last_write_time(index.table("questions").file);
  const FileLock held(std::filesystem::path(folder).concat(".lock"));
  const Index again = question_index(questions_, data_, 1);
  EXPECT_EQ(again.sha256(), index.sha256());
  EXPECT_EQ(again.table("questions").file, index.table("questions").file);
  EXPECT_EQ(std::filesystem::last_write_time(index.table("questions").file), list) << "nothing is written";
}

TEST_F(QuestionSets, GiveSamplesOfTablesAndPictures) {
  const Index index = question_index(questions_, data_, 1);
  const auto dataset = question_dataset(questions_, data_, index, Split::train);
  ASSERT_EQ(dataset->size(), 9);
  const Sample one = dataset->get({.seed = 1, .epoch = 0, .example = 3});
  EXPECT_EQ(dataset->name(3), "files/p10/p10000002/s50000002/pa2.jpg");
  EXPECT_EQ(one.at(sample::study).item<int64_t>(), 1);
  EXPECT_EQ(one.at(sample::answer).item<int64_t>(), 0);
  EXPECT_EQ(one.at(sample::head).item<int64_t>(), 0);
  EXPECT_EQ(one.at(sample::image).sizes(), (std::vector<int64_t>{3, 16, 16}));
  EXPECT_EQ(one.at(sample::tokens)[1].item<int64_t>(), 5);  // "is"
  EXPECT_EQ(one.at(sample::objects_mask).sum().item<int64_t>(), 2);
  EXPECT_EQ(one.at(sample::regions)[0].item<int64_t>(), 2);
  EXPECT_EQ(one.at(sample::labels_mask).sum().item<int64_t>(), 2);
  EXPECT_EQ(one.size(), 13u);
}

TEST_F(QuestionSets, APictureThatIsGoneIsTheExamplesFault) {
  const Index index = question_index(questions_, data_, 1);
  const auto dataset = question_dataset(questions_, data_, index, Split::val);
  std::filesystem::remove(index.folder / dataset->name(0));
  EXPECT_THROW(dataset->get({.seed = 1, .epoch = 0, .example = 0}), Error);
}

class OwnTables : public QuestionSets {
 protected:
  OwnTables() {
    for (const auto& [name, grey] : {std::pair("a.png", 100), {"b.png", 200}})
      write_file(scratch_.path() / name,
                 larmor::testing::png_of(4, 4, larmor::testing::PngKind::grey, 8,
                                         std::vector<uint16_t>(16, static_cast<uint16_t>(grey))));
    data_.kind = table_kind;
    data_.folder.clear();
    data_.list = (scratch_.path() / "own.csv").string();
    data_.split.by = "file";
  }

  Index index_of(const std::string& table) {
    write_file(data_.list, table);
    return question_index(questions_, data_, 1);
  }
  std::string refusal(const std::string& table) {
    try {
      index_of(table);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message();
    }
    return "not refused";
  }
  // The first question about it, whatever its split.
  Sample example_of_image(const Index& index, const std::string& image) const {
    for (const Split split : {Split::train, Split::val, Split::test}) {
      const auto dataset = question_dataset(questions_, data_, index, split);
      for (int64_t example = 0; example < dataset->size(); ++example) {
        if (dataset->name(example).ends_with(image))
          return dataset->get({.seed = 1, .epoch = 0, .example = example});
      }
    }
    ADD_FAILURE() << "no question about " << image;
    return {};
  }
};

TEST_F(QuestionSets, OfAnyonesOwnComeFromATable) {
  const auto list = scratch_.path() / "own.csv";
  write_file(scratch_.path() / "a.png", larmor::testing::png_of(4, 4, larmor::testing::PngKind::grey, 8,
                                                                std::vector<uint16_t>(16, 100)));
  write_file(scratch_.path() / "b.png", larmor::testing::png_of(4, 4, larmor::testing::PngKind::grey, 8,
                                                                std::vector<uint16_t>(16, 200)));
  write_file(list,
             "image,question,answer,type,patient,split,Pneumonia,Edema\n"
             "b.png,Is there an effusion?,yes,,p2,val,1,\n"
             "a.png,Is there an effusion?,no,D02_has_finding,p1,train,0,-1\n"
             "a.png,How severe is it?,moderate,,p1,train,,\n"
             "a.png,What is it?,Pleural Effusion,,p1,train,,\n"
             "a.png,,yes,,p1,train,,\n"
             "a.png,Why?,because,,p1,train,,\n"
             "a.png,Sing!,yes,Z01_sing,p1,train,,\n");
  data_.kind = table_kind;
  data_.folder.clear();
  data_.list = list.string();
  questions_.uncertain = Uncertain::soft;
  const Index index = question_index(questions_, data_, 1);
  EXPECT_THAT(index.patients_by,
              HasSubstr("4 of 4 questions have a head (binary 2, category 1, region 0, severity 1)"));
  EXPECT_THAT(index.patients_by, HasSubstr("unknown type: 1"));
  const auto dataset = question_dataset(questions_, data_, index, Split::train);
  ASSERT_EQ(dataset->size(), 3);
  const Sample second = dataset->get({.seed = 1, .epoch = 0, .example = 1});
  EXPECT_EQ(second.at(sample::answer).item<int64_t>(), 2);
  EXPECT_EQ(second.at(sample::head).item<int64_t>(), 3);
  EXPECT_EQ(second.at(sample::labels)[3].item<float>(), 0.5F);
  EXPECT_NEAR(second.at(sample::image)[0][0][0].item<double>(), (100.0 / 255 - 0.485) / 0.229, 1e-5);
}

TEST_F(OwnTables, NeedNoMoreThanImageQuestionAndAnswer) {
  const Index index = index_of(
      "answer,image,question\n"  // in any order
      "yes,a.png,Is there an effusion?\n"
      "no,b.png,Is there an effusion?\n"
      "severe,b.png,How severe is the effusion?\n");
  EXPECT_EQ(index.table("questions").rows, 3);
  EXPECT_EQ(index.cases.size(), 2u);
  EXPECT_EQ(example_of_image(index, "b.png").at(sample::objects_mask).sum().item<int64_t>(), 1)
      << "the whole image";
  EXPECT_EQ(example_of_image(index, "b.png").at(sample::labels_mask).sum().item<int64_t>(), 0);
  EXPECT_THAT(refusal("image,question\na.png,Is there an effusion?\n"),
              AllOf(HasSubstr("no question is left"), HasSubstr("answer of no type: 1")));
  data_.split.by = "patient";
  EXPECT_THAT(refusal("image,question,answer\na.png,Is it?,yes\nb.png,Is it?,no\n"),
              HasSubstr("does not say whose 2 cases are"));
}

TEST_F(OwnTables, MayHaveBoxesAsSharesOfTheImage) {
  const Index index = index_of(
      "image,question,answer,boxes\n"
      "a.png,Is there an effusion?,yes,0.1 0.2 0.5 0.9; 0 0 1 0.25\n"
      "a.png,How severe is it?,mild,0 0 1 1\n"  // those of an image are those of its first row
      "b.png,Is there an effusion?,no,\n");
  const Sample sample = example_of_image(index, "a.png");
  EXPECT_EQ(sample.at(sample::objects_mask).sum().item<int64_t>(), 2);
  EXPECT_FLOAT_EQ(sample.at(sample::boxes)[0][3].item<float>(), 0.9F);
  EXPECT_FLOAT_EQ(sample.at(sample::boxes)[1][3].item<float>(), 0.25F);
  for (const char* const boxes : {"0.1 0.2 1.5 0.9", "0.5 0.2 0.1 0.9", "-0.1 0 1 1", "here"})
    EXPECT_THAT(refusal(text("image,question,answer,boxes\n\na.png,Is it?,yes,", boxes, "\n")),
                AllOf(HasSubstr("own.csv:"), HasSubstr("which is no box")));
}

TEST_F(OwnTables, WithColumnsThatMovedOrLabelsThatAreNoneAreRefusedWithThePlace) {
  EXPECT_THAT(refusal("picture,question,answer\na.png,Is it?,yes\n"),
              HasSubstr("own.csv has no column image, only picture, question, answer"));
  EXPECT_THAT(refusal("image,text,answer\na.png,Is it?,yes\n"), HasSubstr("has no column question"));
  EXPECT_THAT(refusal("image,question,answer,Edema\na.png,Is it?,yes,maybe\n"),
              AllOf(HasSubstr("own.csv:2"), HasSubstr("Edema is maybe")));
  EXPECT_THAT(refusal("image,question,answer,split\na.png,Is it?,yes,exam\n"),
              AllOf(HasSubstr("own.csv:2"), HasSubstr("the split exam")));
}

TEST_F(OwnTables, CountWhatHasNoImageNoTextOrNoKnownType) {
  const Index index = index_of(
      "image,question,answer,type\n"
      "a.png,Is it?,yes,\n"
      "b.png,Is it?,no,\n"
      ",Is it?,yes,\n"
      "a.png,,yes,\n"
      "a.png,Is it?,yes,Z01_sing\n"
      "a.png,Is it?,,D02_has_finding\n");
  EXPECT_EQ(index.table("questions").rows, 2);
  for (const char* const counted :
       {"no image: 1", "empty text: 1", "unknown type: 1", "no class fits the answer: 1"})
    EXPECT_THAT(index.patients_by, HasSubstr(counted));
}

TEST_F(QuestionSets, OfPhantomsNeedNothing) {
  QuestionData phantoms;
  phantoms.phantom_questions = 3;
  phantoms.sizes = {.image = 32, .question = 16, .objects = 4};
  DataConfig data;
  data.kind = phantom_kind;
  data.phantom_cases = 20;
  const Index index = question_index(phantoms, data, 1);
  EXPECT_TRUE(index.is_invented());
  const auto dataset = question_dataset(phantoms, data, index, Split::train);
  EXPECT_EQ(dataset->size(), count_questions(phantoms, index, Split::train));
  EXPECT_EQ(dataset->get({.seed = 1, .epoch = 0, .example = 0}).size(), 13u);
}

TEST_F(QuestionSets, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [&](auto change) {
    QuestionData questions = questions_;
    DataConfig data = data_;
    change(questions, data);
    try {
      questions.check(data);
      question_index(questions, data, 1);
    } catch (const Error& error) {
      return error.exit() == Exit::usage;
    }
    return false;
  };
  EXPECT_FALSE(refused([](QuestionData&, DataConfig&) {}));
  EXPECT_NO_THROW(QuestionData().check(data_)) << "a configuration is shown before there are data";
  EXPECT_TRUE(refused([](QuestionData& questions, DataConfig&) { questions.vocabulary.clear(); }));
  EXPECT_TRUE(refused([](QuestionData& questions, DataConfig&) { questions.documents.clear(); }));
  EXPECT_TRUE(refused([](QuestionData&, DataConfig& data) { data.kind = "nifti"; }));
  EXPECT_TRUE(refused([](QuestionData&, DataConfig& data) { data.kind = table_kind; }));
}

}  // namespace
}  // namespace larmor::xray_vqa

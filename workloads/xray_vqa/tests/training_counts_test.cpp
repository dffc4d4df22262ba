#include "workloads/xray_vqa/data/training_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"

#include "workloads/xray_vqa/tests/made_up_mimic.h"

#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor::xray_vqa {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TrainingCounts, AreThoseOfTheTrainingRowsAlone) {
  const ScratchFolder scratch;
  for (const char* const name : {"a.png", "b.png", "c.png"})
    larmor::testing::write_file(
        scratch.path() / name,
        larmor::testing::png_of(4, 4, larmor::testing::PngKind::grey, 8, std::vector<uint16_t>(16, 100)));
  larmor::testing::write_file(scratch.path() / "own.csv",
                              "image,question,answer,patient,split,Pneumonia,Edema,Fracture\n"
                              "b.png,How severe is it?,mild,p2,val,1,1,1\n"
                              "a.png,Is there an effusion?,no,p1,train,0,-1,\n"
                              "a.png,Is there a nodule?,yes,p1,train,,,\n"
                              "c.png,What is it?,Edema,p3,train,,1,\n");
  QuestionData questions;
  questions.vocabulary = MadeUpMimic(scratch.path() / "mimic").vocabulary().string();
  DataConfig data;
  data.kind = table_kind;
  data.list = (scratch.path() / "own.csv").string();
  data.cache_folder = (scratch.path() / "cache").string();
  const auto counts = count_training(questions, data, question_index(questions, data, 1));
  EXPECT_EQ(counts.of_heads, (std::array<int64_t, heads>{2, 1, 0, 0}));
  TrainingCounts expected;
  expected.of_labels[9] = 2;  // Pneumonia of both questions about a.png
  expected.of_labels[3] = 1;  // Edema of c.png: the other one is left open
  EXPECT_EQ(counts.of_labels, expected.of_labels);
  EXPECT_THAT(what_was_not_learnt(counts),
              AllOf(HasSubstr("Fracture"), HasSubstr("region, severity"), Not(HasSubstr("Pneumonia"))));
}

TEST(TrainingCounts, OfPhantomsAreThoseOfTheirSamples) {
  QuestionData questions;
  questions.phantom_questions = 3;
  questions.sizes = {.image = 32, .question = 16, .objects = 4};
  DataConfig data;
  data.kind = phantom_kind;
  data.phantom_cases = 12;
  const Index index = question_index(questions, data, 1);
  TrainingCounts expected;
  const auto dataset = question_dataset(questions, data, index, Split::train);
  for (int64_t example = 0; example < dataset->size(); ++example) {
    const Sample one = dataset->get({.seed = 1, .epoch = 0, .example = example});
    const auto head = one.at(sample::head).item<int64_t>();
    if (head >= 0 && one.at(sample::answer).item<int64_t>() >= 0)
      ++expected.of_heads.at(static_cast<std::size_t>(head));
    for (int64_t label = 0; label < chexpert_labels; ++label)
      expected.of_labels.at(static_cast<std::size_t>(label)) +=
          one.at(sample::labels_mask)[label].item<bool>() ? 1 : 0;
  }
  EXPECT_EQ(count_training(questions, data, index), expected);
}

TEST(TrainingCounts, AreReadBackAndAddUp) {
  const ScratchFolder scratch;
  DiskStorage disk;
  TrainingCounts counts;
  counts.of_heads = {1, 2, 3, 4};
  counts.of_labels.fill(7);
  write_text(disk, scratch.path() / "counts.json", to_text(to_json(counts)));
  auto twice = read_training_counts(scratch.path() / "counts.json");
  EXPECT_EQ(twice, counts);
  EXPECT_EQ(what_was_not_learnt(twice), "");
  twice += counts;
  EXPECT_EQ(twice.of_heads, (std::array<int64_t, heads>{2, 4, 6, 8}));
  EXPECT_EQ(twice.of_labels[13], 14);
  write_text(disk, scratch.path() / "counts.json", "{\"heads\": {}}");
  EXPECT_THROW(read_training_counts(scratch.path() / "counts.json"), Error);
}

}  // namespace
}  // namespace larmor::xray_vqa

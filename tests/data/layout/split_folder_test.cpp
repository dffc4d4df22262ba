#include "larmor/data/layout/split_folder.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(SplitOfFolder, KnowsWordsAndPartsOfChallengesNames) {
  for (const char* const name :
       {"train", "Train", "training", "TrainingData", "ASNR-MICCAI-BraTS2023-TrainingData"})
    EXPECT_EQ(split_of_folder(name), Split::train) << name;
  for (const char* const name : {"val", "valid", "VALIDATION", "BraTS2020_ValidationData"})
    EXPECT_EQ(split_of_folder(name), Split::val) << name;
  for (const char* const name : {"test", "testing", "TestingData"})
    EXPECT_EQ(split_of_folder(name), Split::test) << name;
}

TEST(SplitOfFolder, TakesNoOtherWordForOne) {
  for (const char* const name : {"", "trains", "valve", "contest", "p1", "test2", "data"})
    EXPECT_EQ(split_of_folder(name), std::nullopt) << name;
}

}  // namespace
}  // namespace larmor

// Both stages of xray_vqa, what is judged of them, and what a person asks of the second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/image.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int wrong_usage = 2;

class QuestionsAboutRadiographs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    Image image{.width = 96, .height = 80, .channels = 3, .pixels = std::vector<uint8_t>(96 * 80 * 3)};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i / 100);
    put_file(folder() / "x.png", encode_png(image));
    const auto end =
        call({"train", "xray_vqa", "--stage", "all", "-c", "tiny", "--ranks", "2", "run.name=both",
              "train.length=6st", "train.validate_every=3st", "checkpoint.every=3st"});
    ASSERT_EQ(end.status, 0) << end.err;
  }
  static void TearDownTestSuite() {
    delete scratch_;
    scratch_ = nullptr;
  }

  static std::filesystem::path folder() { return scratch_->path(); }
  static Finished call(std::vector<std::string> words) {
    return larmor_program(std::move(words), {.folder = folder()});
  }

 private:
  static inline ScratchFolder* scratch_ = nullptr;
};

TEST_F(QuestionsAboutRadiographs, AreJudgedBesideWhatNeedsNoImage) {
  const auto report = call({"evaluate", "runs/both-finetune", "--json"}).json();
  for (const auto* name : {"accuracy", "accuracy_majority", "accuracy_question_only", "accuracy_image_blind",
                           "accuracy_binary", "f1_binary", "ece", "loss"})
    EXPECT_TRUE(report.at(name).contains("mean")) << name;
  EXPECT_EQ(report.at("auroc").at("per_label").size(), 14U);
}

TEST_F(QuestionsAboutRadiographs, AreAnsweredWithTheLabelsBeside) {
  const auto end = call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input",
                         "question=Is there a pleural effusion?", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto values = end.json().at(0).at("values");
  EXPECT_EQ(values.at("head"), "binary");
  EXPECT_THAT(values.at("answer").get<std::string>(), ::testing::AnyOf("yes", "no"));
  EXPECT_GE(values.at("probability").get<double>(), 0.5);
  EXPECT_TRUE(values.contains("Pleural Effusion"));
}

TEST_F(QuestionsAboutRadiographs, AreAnsweredFromATable) {
  put_file(folder() / "asked.csv",
           "image,question,type\nx.png,Where is the lesion?,\nx.png,Describe it.,how_severe_is_finding\n");
  const auto end = call({"predict", "runs/both-finetune", "--table", "asked.csv", "--output", "answers.csv"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(read_text(folder() / "answers.csv"), AllOf(HasSubstr("region"), HasSubstr("severity")));
}

TEST_F(QuestionsAboutRadiographs, AreRefusedWhereTheyAreNone) {
  const auto end =
      call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input", "question= ", "--json"});
  EXPECT_EQ(end.status, wrong_usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("question"));
}

}  // namespace
}  // namespace larmor::testing

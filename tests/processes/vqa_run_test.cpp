// Both stages of xray_vqa, what is judged of them, and what a person asks of the second.
#include <array>
#include <deque>

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

constexpr int wrong_usage = 2, wrong_data = 3;

/// Grey in steps, the first at `number`.
std::string radiograph(int number = 0) {
  Image image{.width = 96, .height = 80, .channels = 3, .pixels = std::vector<uint8_t>(96 * 80 * 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i / 100 + static_cast<std::size_t>(number));
  return encode_png(image);
}

class QuestionsAboutRadiographs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = new ScratchFolder;
    put_file(folder() / "x.png", radiograph());
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

TEST_F(QuestionsAboutRadiographs, AreTakenFromOneColdCacheByRunsThatStartAtOnce) {
  put_file(folder() / "y.png", read_text(folder() / "x.png"));
  put_file(folder() / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nis\nthere\n?\n");
  put_file(folder() / "own.csv",
           "image,question,answer,patient,split\nx.png,Is there?,yes,a,train\ny.png,Is there?,yes,b,val\n");
  ProgramOptions options{.folder = folder()};
  options.environment = {{"LARMOR_FAIL_POINT", "create:1+:slow"}};  // long enough to overlap
  std::deque<Running> runs;
  for (int run = 0; run < 3; ++run)
    runs.emplace_back(std::vector<std::string>{"train", "xray_vqa", "-c", "tiny", "--dry-run",
                                               "data.kind=questions", "data.list=own.csv", "data.folder=.",
                                               "data.split={by: file}", "data.cache_folder=cold",
                                               "data.vocabulary=vocab.txt", "train.global_batch=1"},
                      options);
  for (auto& run : runs) {
    const auto end = run.wait();
    EXPECT_EQ(end.status, 0) << end.err;
  }
}

TEST_F(QuestionsAboutRadiographs, AreJudgedBesideWhatNeedsNoImage) {
  const auto report = call({"evaluate", "runs/both-finetune", "--json"}).json();
  for (const auto* name : {"accuracy", "accuracy_majority", "accuracy_question_only", "accuracy_image_blind",
                           "accuracy_binary", "f1_binary", "ece", "loss"})
    EXPECT_TRUE(report.at(name).contains("mean")) << name;
  EXPECT_EQ(report.at("auroc").at("per_label").size(), 14U);
  for (const auto* name : {"accuracy", "accuracy_binary", "auroc", "ece"})
    EXPECT_TRUE(report.at(std::string(name) + "_without_scene").contains("mean")) << name;
  EXPECT_EQ(report.at("patients"), 10) << "of four questions each";
  EXPECT_THAT(report.at("remarks").at(0).get<std::string>(),
              HasSubstr("40 of 40 questions were answered with the scene"));
}

TEST_F(QuestionsAboutRadiographs, AreAskedWithTheObjectsOfAScene) {
  const auto ask = [](const std::string& objects) {
    put_file(folder() / "scene.json", objects);
    return call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input",
                 "question=Is there a lesion?", "--input", "objects=scene.json", "--output", "asked.csv"});
  };
  const auto end = ask(R"({"objects": [{"box": [0, 0, 0.5, 1]}, {"box": [0.5, 0, 1, 1]}]})");
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(read_text(folder() / "asked.csv"), HasSubstr("box_attention"));
  const auto refused = ask(R"({"objects": [{"region": "left knee"}]})");
  EXPECT_EQ(refused.status, wrong_data);
  EXPECT_THAT(refused.err, HasSubstr("the run knows no region `left knee`"));
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
  put_file(
      folder() / "training.csv",
      "image,question,answer,type,patient,split,Edema,site\nx.png,Where is it?,left lung,,p0,val,1,Rome\n");
  const auto own = call({"predict", "runs/both-finetune", "--table", "training.csv", "--json"});
  ASSERT_EQ(own.status, 0) << own.err;
  EXPECT_EQ(own.json().at(0).at("values").at("head"), "region");
  EXPECT_THAT(own.err, HasSubstr("nothing reads the columns site"));
}

TEST_F(QuestionsAboutRadiographs, MayBeSeveralOfOneImageWithBoxesAndAPicture) {
  const auto end = call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input",
                         "question=Is there a lesion?", "--input", "question=Where is the lesion?", "--input",
                         "boxes=0 0 0.5 1; 0.5 0 1 1", "--saliency", "--output", "seen/", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto rows = end.json();
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    const auto& values = row.at("values");
    EXPECT_THAT(values.at("box").get<std::string>(), ::testing::AnyOf("0 0 0.5 1", "0.5 0 1 1"));
    EXPECT_GE(values.at("box_attention").get<double>(), 0.5);
    const auto picture = row.at("outputs").at("saliency").get<std::string>();
    EXPECT_THAT(read_text(folder() / picture), ::testing::StartsWith("\x89PNG"));
  }
  EXPECT_EQ(rows[0].at("values").at("Edema"), rows[1].at("values").at("Edema"));
  EXPECT_EQ(rows[1].at("outputs").at("saliency"), "seen/x-1-saliency.png");
  EXPECT_EQ(call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input", "question=Why?",
                  "--saliency"})
                .status,
            wrong_usage)
      << "nobody said where the picture goes";
}

TEST_F(QuestionsAboutRadiographs, OfARunInFloat64AreAnsweredAlikeByAStageThatStartsFromItAndDoesNotMove) {
  const auto end =
      call({"train", "xray_vqa", "--stage", "all", "-c", "tiny", "run.name=wide", "train.precision=fp64",
            "train.length=2st", "train.validate_every=2st", "checkpoint.every=2st",
            "finetune:optim.learning_rate=0", "finetune:optim.schedule.final_rate=0"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto answered = [](const std::string& run) {
    const auto asked = call({"predict", "runs/" + run, "--input", "image=x.png", "--input",
                             "question=Is there a lesion?", "--json"});
    EXPECT_EQ(asked.status, 0) << asked.err;
    return asked.json().at(0).at("values");
  };
  EXPECT_EQ(answered("wide-finetune"), answered("wide-pretrain"));
}

/// Of one's own table: nobody asked where anything is, and two labels alone are known.
std::string own_table() {
  std::string rows = "image,question,answer,patient,split,Pneumonia,Edema\n";
  for (int i = 0; i < 8; ++i) {
    const auto* const split = i < 6 ? "train" : "val";
    rows += text("x", i, ".png,is there an effusion ?,", i % 2 == 0 ? "yes" : "no", ",p", i, ",", split, ",",
                 i % 2, ",", (i / 2) % 2, "\n");
    rows += text("x", i, ".png,how severe is it ?,mild,p", i, ",", split, ",,\n");
  }
  return rows;
}

TEST_F(QuestionsAboutRadiographs, AreAnsweredWhenTheDataAreGone) {
  const auto data = folder() / "own";
  for (int i = 0; i < 8; ++i) put_file(data / text("x", i, ".png"), radiograph(i));
  put_file(data / "own.csv", own_table());
  put_file(data / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nis\nthere\nan\neffusion\n?\nhow\nsevere\nit\n");
  const std::vector<std::string> words = {"-c",
                                          "tiny",
                                          "data.kind=questions",
                                          "data.list=own/own.csv",
                                          "data.vocabulary=own/vocab.txt",
                                          "data.cache_folder=own/cache",
                                          "train.length=2st",
                                          "train.global_batch=4",
                                          "train.validate_every=2st",
                                          "checkpoint.every=2st"};
  for (const auto& [stage, name, from] : {std::array<std::string, 3>{"pretrain", "own-first", ""},
                                          {"finetune", "own-second", "from.pretrain=own-first"}}) {
    std::vector<std::string> all = {"train", "xray_vqa", "--stage", stage, "run.name=" + name};
    all.insert(all.end(), words.begin(), words.end());
    if (!from.empty()) all.push_back(from);
    const auto end = call(all);
    ASSERT_EQ(end.status, 0) << end.err;
  }
  const auto ask = [&](const std::string& question) {
    return call({"predict", "runs/own-second", "--input", "image=x.png", "--input", "question=" + question,
                 "--json"});
  };
  const auto before = ask("is there an effusion ?");
  ASSERT_EQ(before.status, 0) << before.err;
  put_file(data / "other.txt", read_text(data / "vocab.txt") + "lesion\n");
  for (const char* const verb : {"evaluate", "predict"}) {
    std::vector<std::string> all = {verb, "runs/own-second", "data.vocabulary=own/other.txt"};
    if (verb == std::string("predict"))
      all.insert(all.end(), {"--input", "image=x.png", "--input", "question=is it ?"});
    const auto refused = call(all);
    EXPECT_EQ(refused.status, wrong_usage) << verb;
    EXPECT_THAT(refused.err, HasSubstr("data.vocabulary=own/other.txt: the run keeps")) << verb;
  }
  std::filesystem::remove_all(data);
  std::filesystem::remove_all(folder() / "runs" / "own-first");
  const auto after = ask("is there an effusion ?");
  ASSERT_EQ(after.status, 0) << after.err;
  EXPECT_EQ(after.out, before.out);

  EXPECT_THAT(after.err, AllOf(HasSubstr("Fracture"), HasSubstr("region")));
  const auto values = after.json().at(0).at("values");
  EXPECT_TRUE(values.at("Pneumonia").is_number());
  EXPECT_TRUE(values.at("Fracture").is_null());
  EXPECT_THAT(after.json().at(0).at("missing").at("Fracture").get<std::string>(), HasSubstr("no training"));
  const auto where = ask("where is it ?").json().at(0);
  EXPECT_TRUE(where.at("values").at("answer").is_null());
  EXPECT_THAT(where.at("missing").at("answer").get<std::string>(), HasSubstr("region"));
}

TEST_F(QuestionsAboutRadiographs, AreRefusedWhereTheyAreNone) {
  const auto end =
      call({"predict", "runs/both-finetune", "--input", "image=x.png", "--input", "question= ", "--json"});
  EXPECT_EQ(end.status, wrong_usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("question"));
}

}  // namespace
}  // namespace larmor::testing

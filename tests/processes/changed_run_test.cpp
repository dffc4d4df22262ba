// A run that goes on for longer, with an edited config, from another folder.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, environment = 4;

class ChangedRun : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path() / "here"; }
  fs::path run(const std::string& name) const { return folder() / "runs" / name; }
  void SetUp() override { fs::create_directories(folder()); }
  Finished call(std::vector<std::string> words) const {
    return larmor_program(std::move(words), {.folder = folder()});
  }
  Finished train(const std::string& name, int steps, const std::vector<std::string>& more = {}) const {
    auto words = small_training(name, 1, steps);
    words.insert(words.end(), {"optim.schedule.name=constant", "optim.schedule.warmup=0"});
    for (const auto& word : more) {
      const auto sign = word.find('=');
      if (sign == std::string::npos) {
        words.push_back(word);
        continue;
      }
      words = with(std::move(words), word.substr(0, sign), word.substr(sign + 1));
    }
    return call(words);
  }
  void edit(const std::string& name, const std::string& from, const std::string& to) const {
    auto yaml = read_text(run(name) / "config.yaml");
    const auto place = yaml.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    write(run(name) / "config.yaml", yaml.replace(place, from.size(), to));
  }
  static void write(const fs::path& file, const std::string& content) { std::ofstream(file) << content; }
  static bool is_bitwise(const fs::path& run) {
    const auto newest = checkpoint_names(run).back();
    return read_json(run / "checkpoints" / newest / "manifest.json").at("bitwise").get<bool>();
  }
  static std::vector<std::string> changes_in(const fs::path& run) {
    std::vector<std::string> words;
    for (const auto& event : events_of(run, "change")) words.push_back(event.at("text"));
    return words;
  }

  ScratchFolder scratch_;
};

TEST_F(ChangedRun, ThatIsExtendedByHalfIsTheOneThatWasStartedLonger) {
  ASSERT_EQ(train("whole", 30).status, 0);
  ASSERT_EQ(train("short", 20).status, 0);
  ASSERT_TRUE(fs::exists(run("short") / "DONE"));
  const auto longer = call({"train", "short", "train.length=30st"});
  EXPECT_EQ(longer.status, 0) << longer.err;
  EXPECT_THAT(longer.err, AllOf(HasSubstr("train.length was 20st and is 30st"),
                                HasSubstr("the schedule constant does not go by the length"),
                                HasSubstr("resuming from step 20")));
  EXPECT_EQ(trained_state(run("short")), trained_state(run("whole")));
  EXPECT_THAT(generations_of(run("short")), ElementsAre(0, 1)) << "the history is kept";
  EXPECT_THAT(changes_in(run("short")), ElementsAre("train.length was 20st and is 30st"));
  EXPECT_TRUE(is_bitwise(run("short")));
  // By the words that it was begun with it stays what it has become.
  EXPECT_THAT(train("short", 20).err,
              AllOf(HasSubstr("is finished already"), HasSubstr("train.length=LENGTH trains it for longer"),
                    HasSubstr("runs/short begins another run with its weights")));
  const auto other = train("short", 24);
  EXPECT_EQ(other.status, usage);
  EXPECT_THAT(other.err, AllOf(HasSubstr("train.length (30st there, 24st here)"),
                               HasSubstr("larmor train runs/short train.length=24st"),
                               HasSubstr("from.run=runs/short begins it with those weights")));
}

TEST_F(ChangedRun, ThatIsUnfinishedMayBeShorterAndSavedOtherwise) {
  ASSERT_EQ(train("x", 24, {"--steps", "6"}).status, 0);
  const auto shorter =
      call({"train", "x", "train.length=9st", "checkpoint.every=1st", "checkpoint.keep_last=3",
            "track.tensorboard=false", "data.workers=0", "train.early_stopping=4"});
  EXPECT_EQ(shorter.status, 0) << shorter.err;
  EXPECT_EQ(trained_state(run("x")).steps.size(), 9U);
  EXPECT_THAT(checkpoint_names(run("x")), ElementsAre("step-00000007", "step-00000008", "step-00000009"));
  EXPECT_TRUE(fs::exists(run("x") / "DONE"));
}

TEST_F(ChangedRun, SaysWhereItsRatesAreOthersFromHereOn) {
  ASSERT_EQ(train("x", 4, {"optim.schedule.name=warmup_cosine"}).status, 0);
  const auto longer = call({"train", "x", "train.length=6st"});
  EXPECT_EQ(longer.status, 0) << longer.err;
  EXPECT_THAT(longer.err, AllOf(HasSubstr("warmup_cosine is drawn over 6st in place of 4st"),
                                HasSubstr("optim.schedule.steps=4")));
  EXPECT_FALSE(is_bitwise(run("x")));
}

TEST_F(ChangedRun, RefusesWhatWouldBeAnotherRunWithACommandThatBeginsIt) {
  ASSERT_EQ(train("x", 4).status, 0);
  const auto end = call({"train", "x", "optim.weight_decay=0.5", "train.length=6st"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, AllOf(HasSubstr("optim.weight_decay ("), HasSubstr(" 0.5 here)")));
  EXPECT_TRUE(fs::exists(run("x") / "DONE"));
  // The last command that is printed runs as it stands.
  const auto last = end.err.rfind('`'), first = end.err.rfind("`larmor", last - 1);
  ASSERT_NE(first, std::string::npos) << end.err;
  const auto command = end.err.substr(first + 1, last - first - 1);
  const char* larmor = std::getenv("LARMOR_PROGRAM");
  ASSERT_NE(larmor, nullptr);
  const auto whole = text("cd '", folder().string(), "' && '", larmor, "'", command.substr(6), " 2> said");
  EXPECT_EQ(std::system(whole.c_str()), 0) << command << read_text(folder() / "said");
  const auto begun = fs::canonical(run("latest"));
  EXPECT_NE(begun.filename(), "x");
  EXPECT_THAT(read_text(begun / "config.yaml"), HasSubstr("weight_decay: 0.5"));
  EXPECT_THAT(read_text(begun / "config.yaml"), HasSubstr("run: \"sha256:"));
  EXPECT_EQ(trained_state(begun).steps.size(), 6U) << "steps of its own";
}

TEST_F(ChangedRun, WhoseConfigWasEditedIsRefusedOrAcceptedAloud) {
  ASSERT_EQ(train("x", 24, {"--steps", "4"}).status, 0);
  edit("x", "weight_decay: ", "weight_decay: 0.25 #");
  const auto refused = call({"train", "x"});
  EXPECT_EQ(refused.status, usage);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("config.yaml has been edited"), HasSubstr("optim.weight_decay ("),
                                 HasSubstr(" there, 0.25 here)"), HasSubstr("--accept-config")));
  EXPECT_EQ(trained_state(run("x")).steps.size(), 4U);
  const auto taken = call({"train", "x", "--accept-config", "--steps", "6"});
  EXPECT_EQ(taken.status, 0) << taken.err;
  EXPECT_THAT(changes_in(run("x")), ::testing::Contains(HasSubstr("optim.weight_decay was ")));
  EXPECT_FALSE(is_bitwise(run("x")));
  // It is the run's from now on.
  EXPECT_EQ(call({"train", "x", "--steps", "7"}).status, 0);
  EXPECT_FALSE(is_bitwise(run("x")));
  // A length may be edited, as it may be said; a seed may not.
  edit("x", "length: 24st", "length: 8st");
  EXPECT_THAT(call({"train", "x"}).err, HasSubstr("train.length was 24st and is 8st"));
  EXPECT_TRUE(fs::exists(run("x") / "DONE"));
  edit("x", "seed: ", "seed: 77 #");
  EXPECT_EQ(call({"train", "x", "--accept-config"}).status, usage);
}

TEST_F(ChangedRun, WhoseConfigLacksItsEndIsToldAsThat) {
  ASSERT_EQ(train("x", 4).status, 0);
  const auto yaml = read_text(run("x") / "config.yaml");
  for (const auto* verb : {"train", "evaluate"}) {
    write(run("x") / "config.yaml", yaml.substr(0, yaml.size() / 2));
    const auto cut = call({verb, "x"});
    EXPECT_EQ(cut.status, environment) << verb;
    EXPECT_THAT(cut.err, HasSubstr("config.yaml is cut short"));
    write(run("x") / "config.yaml", "");
    const auto empty = call({verb, "x"});
    EXPECT_EQ(empty.status, environment) << verb;
    EXPECT_THAT(empty.err, HasSubstr("config.yaml is empty"));
  }
}

TEST_F(ChangedRun, WorksFromAnyFolderAndWhereItWasMovedWithItsData) {
  put_heads(folder() / "heads", 6);
  ASSERT_EQ(train("x", 4,
                  {"data.kind=nifti", "data.folder=heads", "data.split={train: 0.7, val: 0.3, test: 0}",
                   "data.transforms=[{RandSpatialCrop: {roi_size: [12, 12, 12]}}]", "track.tensorboard=false",
                   "--steps", "2"})
                .status,
            0);
  const auto judge = [&](const fs::path& from, const fs::path& of) {
    const auto end =
        larmor_program({"evaluate", of.string(), "--split", "train", "--quick", "--json"}, {.folder = from});
    EXPECT_EQ(end.status, 0) << end.err;
    auto json = end.status == 0 ? end.json() : Json();
    json.erase("checkpoint");
    return json.dump();
  };
  const auto expected = judge(folder(), run("x"));
  const ScratchFolder elsewhere;
  EXPECT_EQ(judge(elsewhere.path(), run("x")), expected);
  const auto end = larmor_program({"train", run("x").string(), "--steps", "3"}, {.folder = elsewhere.path()});
  EXPECT_EQ(end.status, 0) << end.err;
  const auto of_three = judge(folder(), run("x"));
  fs::rename(folder(), scratch_.path() / "there");
  const auto moved = scratch_.path() / "there" / "runs" / "x";
  EXPECT_EQ(judge(elsewhere.path(), moved), of_three);
  const auto predicted =
      larmor_program({"predict", moved.string(), "--input",
                      (scratch_.path() / "there/heads/p0/t1.nii.gz").string(), "--output", "p0.nii.gz"},
                     {.folder = elsewhere.path()});
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  const auto last = larmor_program({"train", moved.string()}, {.folder = elsewhere.path()});
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_TRUE(is_bitwise(moved));
  EXPECT_EQ(trained_state(moved).steps.size(), 4U);
}

}  // namespace
}  // namespace larmor::testing

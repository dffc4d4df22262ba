// What a newcomer types first.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

TEST(FirstLook, WithoutWordsTheProgramSaysWhatItCanDo) {
  const auto end = larmor_program({});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.out, HasSubstr("train"));
}

TEST(FirstLook, AMistypedVerbIsAnsweredWithTheNearest) {
  const auto end = larmor_program({"trian", "latent_diffusion"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("did you mean train?"));
}

TEST(FirstLook, ListNamesTheWorkloadsTheirStagesAndConfigs) {
  const auto all = larmor_program({"list", "--json"}).json();
  std::vector<std::string> names;
  for (const auto& workload : all) {
    names.push_back(workload["workload"]);
    EXPECT_THAT(workload["configs"].dump(), HasSubstr("tiny"));
    const auto& details = workload["stage_details"];
    ASSERT_EQ(details.size(), workload["stages"].size());
    EXPECT_EQ(details[0]["stage"], workload["stages"][0]);
    EXPECT_EQ(details[0]["configs"], workload["configs"]);
    EXPECT_TRUE(details[0]["needs"].empty()) << "the first stage has none before it";
  }
  EXPECT_THAT(names, IsSupersetOf({"fast_ddpm", "latent_diffusion", "survival"}));
}

TEST(FirstLook, ListOfAWorkloadSaysWhatEachStageAndConfigIsFor) {
  for (const auto& workload : larmor_program({"list", "--json"}).json()) {
    const auto name = workload["workload"].get<std::string>();
    const auto end = larmor_program({"list", name});
    ASSERT_EQ(end.status, 0) << end.err;
    for (const auto& stage : workload["stage_details"]) {
      const auto purpose = stage["purpose"].get<std::string>(), data = stage["data"].get<std::string>();
      EXPECT_FALSE(purpose.empty() || data.empty()) << name << " " << stage["stage"];
      EXPECT_THAT(end.out, HasSubstr(stage["stage"].get<std::string>() + ": " + purpose));
      EXPECT_THAT(end.out, HasSubstr(data));
      for (const auto& config : stage["configs"]) {
        const auto said = stage["config_purposes"][config.get<std::string>()].get<std::string>();
        EXPECT_FALSE(said.empty()) << name << " " << config;
        EXPECT_THAT(end.out, HasSubstr("-c " + config.get<std::string>() + ": " + said));
      }
    }
  }
  EXPECT_THAT(larmor_program({"list", "surival"}).err, HasSubstr("did you mean survival?"));
  EXPECT_EQ(larmor_program({"list", "survival", "train.length=1ep"}).status, 2);
}

TEST(FirstLook, OneKeyIsExplainedAlone) {
  const auto rows = larmor_program({"config", "explain", "survival", "train.precision", "optim.schedule",
                                    "train.precision=bf16", "--json"})
                        .json();
  std::vector<std::string> keys;
  for (const auto& row : rows) keys.push_back(row["key"]);
  EXPECT_THAT(keys, IsSupersetOf({"train.precision", "optim.schedule.name", "optim.schedule.warmup"}));
  EXPECT_EQ(rows[0]["value"], "bf16");
  EXPECT_EQ(rows[0]["origin"], "command line");
  for (const auto& key : keys)
    EXPECT_TRUE(key == "train.precision" || key.starts_with("optim.schedule.")) << key;

  const auto one = larmor_program({"config", "explain", "survival", "train.length"});
  EXPECT_THAT(one.out, HasSubstr("train.length: 50ep"));
  EXPECT_THAT(one.out, HasSubstr("from default.yaml:"));
  EXPECT_EQ(std::ranges::count(one.out, '\n'), 3) << one.out;
}

TEST(FirstLook, AKeyThatIsNotThereIsAnsweredWithTheNearest) {
  for (const auto& [key, meant] :
       std::vector<std::pair<std::string, std::string>>{{"train.lenght", "did you mean train.length?"},
                                                        {"optim.schedul", "did you mean optim.schedule?"},
                                                        {"folder", "did you mean run.folder or data.folder?"},
                                                        {"batch_size", "train.global_batch="},
                                                        {"qqqqqqqqqq", "shows every key"}}) {
    const auto end = larmor_program({"config", "explain", "survival", key});
    EXPECT_EQ(end.status, 2) << key;
    EXPECT_THAT(end.err, HasSubstr("there is no key " + key));
    EXPECT_THAT(end.err, HasSubstr(meant));
  }
  EXPECT_THAT(larmor_program({"config", "explain", "train.length"}).err,
              HasSubstr("name a workload before it"));
  EXPECT_EQ(larmor_program({"config", "show", "survival", "train.length"}).status, 2)
      << "only explain takes keys";
}

TEST(FirstLook, ACommandOfAGuideIsSaidInOurs) {
  const auto end = larmor_program({"config", "import", "--", "torchrun", "--standalone", "--nproc_per_node=4",
                                   "scripts/train_3d.py", "--data_root", "heads", "--use_wandb"});
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, StartsWith("# larmor train fast_ddpm -c FILE.yaml\n"));
  EXPECT_THAT(end.out, HasSubstr("data:\n  folder: heads  # from data_root\n"));
  EXPECT_THAT(end.out, HasSubstr("parallel:\n  ranks: 4  # from nproc_per_node\n"));
  EXPECT_THAT(end.out, HasSubstr("track:\n  wandb:\n    enabled: true  # from use_wandb\n"));

  const ScratchFolder scratch;
  const ProgramOptions here{.folder = scratch.path()};
  const auto written = larmor_program({"config", "import", "--output", "mine.yaml", "--json", "--", "python",
                                       "quick_start_multi_gpu.py", "--csv_path", "c.csv", "--epochs", "7"},
                                      here);
  EXPECT_EQ(written.json()["workload"], "survival");
  EXPECT_EQ(written.json()["command"], "larmor train survival -c mine.yaml");
  const auto shown =
      larmor_program({"config", "explain", "survival", "train.length", "-c", "mine.yaml", "--json"}, here);
  EXPECT_EQ(shown.json()[0]["value"], "7ep");
}

TEST(FirstLook, AnImportOfWhatNobodyKnowsIsRefused) {
  for (const auto& [words, what] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--", "python", "train.py"}, "--workload"},
           {{"--workload", "surival", "--", "python", "train.py"}, "did you mean survival?"},
           {{"--workload", "survival", "--", "python", "train.py", "--epohcs", "3"}, "did you mean epochs?"},
           {{"--workload", "survival", "nowhere.yaml"}, "no such file"},
           {{}, "a file is needed"}}) {
    std::vector<std::string> call{"config", "import"};
    call.insert(call.end(), words.begin(), words.end());
    const auto end = larmor_program(call);
    EXPECT_NE(end.status, 0);
    EXPECT_THAT(end.err, HasSubstr(what));
  }
}

TEST(FirstLook, EveryConfigIsShownAndExplainedBeforeThereAreData) {
  for (const auto& workload : larmor_program({"list", "--json"}).json()) {
    for (const auto& stage : workload["stage_details"]) {
      for (const auto& name : stage["configs"]) {
        for (const char* verb : {"show", "explain"}) {
          const std::vector<std::string> words{"config",
                                               verb,
                                               workload["workload"].get<std::string>(),
                                               "--stage",
                                               stage["stage"].get<std::string>(),
                                               "-c",
                                               name.get<std::string>()};
          const auto end = larmor_program(words);
          EXPECT_EQ(end.status, 0) << workload["workload"] << " " << name << ": " << end.err;
        }
      }
    }
  }
}

TEST(FirstLook, AConfigThatIsNotThereIsAnsweredWithThoseOfTheStage) {
  const auto end = larmor_program({"config", "show", "survival", "-c", "cohrt"});
  EXPECT_EQ(end.status, 2);
  EXPECT_THAT(end.err, HasSubstr("with the stage risk of survival"));
  EXPECT_THAT(end.err, HasSubstr("did you mean cohort?"));
  const auto stage = larmor_program({"config", "show", "survival", "--stage", "risks"});
  EXPECT_EQ(stage.status, 2);
  EXPECT_THAT(stage.err, HasSubstr("survival has no stage risks"));
}

TEST(FirstLook, TheFirstStepOfTinyIsLoggedAndTheRunIsFinished) {
  const ScratchFolder scratch;
  const auto end =
      larmor_program({"train", "latent_diffusion", "-c", "tiny", "train.length=12st", "--ranks", "1"},
                     {.folder = scratch.path()});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto run = scratch.path() / end.run_folder();
  EXPECT_EQ(events_of(run, "step").size(), 12U);
  EXPECT_TRUE(std::filesystem::exists(run / "DONE"));
}

}  // namespace
}  // namespace larmor::testing

// Stages that build on others, by the program with the workload of the tests (tests/toy/workload.h): what a
// later run keeps of an earlier one, and a chain of all stages.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/toy_stages.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2, damaged = 7;

TEST_F(Stages, KeepWhatTheyNeedOfAnEarlierRunWhichMayThenGo) {
  train_coder();
  const std::vector<std::string> words{"run.name=refiner", "from.coder=coder"};
  auto stopped = words;
  stopped.insert(stopped.end(), {"--steps", "2"});
  ASSERT_EQ(train("refiner", stopped).status, 0);
  const auto kept = run("refiner") / "from" / "coder";
  EXPECT_EQ(read_text(kept / "model.safetensors"),
            read_text(run("coder") / "checkpoints" / "best" / "model.safetensors"));
  const auto record = read_json(kept / "earlier_run.json");
  EXPECT_THAT(read_text(run("refiner") / "config.yaml"),
              AllOf(HasSubstr(record["hash"].get<std::string>()), HasSubstr("# coder, command line")));
  fs::remove_all(run("coder"));
  const auto again = train("refiner", words);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(fs::exists(run("refiner") / "DONE"));
  const auto evaluated = call({"evaluate", "runs/refiner", "--json"});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
}

TEST_F(Stages, TakeAnyRunByThePathAndAnyCheckpointByItsName) {
  train_coder();
  const auto path = text("from.coder=", run("coder").string());
  EXPECT_EQ(train("refiner", {"run.name=a", path + "#last"}).status, 0);
  EXPECT_EQ(train("refiner", {"run.name=b", path + "#step-00000002"}).status, 0);
  EXPECT_EQ(read_json(run("a") / "from" / "coder" / "earlier_run.json")["checkpoint"], "step-00000004");
  EXPECT_EQ(read_json(run("b") / "from" / "coder" / "earlier_run.json")["checkpoint"], "step-00000002");
}

// Another seed splits the same patients otherwise.
TEST_F(Stages, AreNotJudgedByWhomAnEarlierOneHasTrainedOn) {
  train_coder();
  const auto words = [](const std::string& name) {
    return std::vector<std::string>{"run.name=" + name, "from.coder=coder", "run.seed=7"};
  };
  auto rehearsed = words("r");
  rehearsed.insert(rehearsed.end(), {"--dry-run", "--json"});
  const auto draft = train("refiner", rehearsed);
  ASSERT_EQ(draft.status, 0) << draft.err;
  const auto end = train("refiner", words("r"));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err,
              HasSubstr("of val and test trained the weights that this run begins with or builds on"));

  const Json before = read_json(run("coder") / "index.json"), index = read_json(run("r") / "index.json");
  const auto names_of = [](const Json& cases, bool of_training) {
    std::set<std::string> names;
    for (const Json& entry : cases)
      if ((entry["split"] == "train") == of_training) names.insert(entry["patient"]);
    return names;
  };
  const auto trained = names_of(before["cases"], true), judges = names_of(index["cases"], false);
  const auto left_out = names_of(index["left_out"], false);
  EXPECT_FALSE(judges.empty());
  EXPECT_FALSE(left_out.empty());
  for (const std::string& judge : judges) EXPECT_FALSE(trained.contains(judge)) << judge;
  for (const std::string& patient : left_out) EXPECT_TRUE(trained.contains(patient)) << patient;
  EXPECT_EQ(draft.json()["data"]["splits"]["val"]["patients"], judges.size());

  // It knows them when the earlier run is gone, and they are no news of the data.
  fs::remove_all(run("coder"));
  const auto judged = call({"evaluate", "r", "--quick", "--json"});
  ASSERT_EQ(judged.status, 0) << judged.err;
  EXPECT_EQ(judged.json()["n"], judges.size());
  EXPECT_EQ(judged.json()["trained_on"], Json(left_out));
  EXPECT_FALSE(judged.json().contains("changes"));
}

TEST_F(Stages, AreOtherRunsWithOtherWeightsBeneathThem) {
  train_coder();
  train_coder("same");
  ASSERT_EQ(train("coder", {"run.name=other", "run.seed=5"}).status, 0);
  ASSERT_EQ(train("refiner", {"run.name=r", "from.coder=coder", "--steps", "2"}).status, 0);
  const auto other = train("refiner", {"run.name=r", "from.coder=other"});
  EXPECT_EQ(other.status, usage);
  EXPECT_THAT(other.err, HasSubstr("these keys differ: from.coder"));
  EXPECT_EQ(train("refiner", {"run.name=r", "from.coder=same"}).status, 0)
      << "the same weights by another name";
}

TEST_F(Stages, RefuseWhatTheyCannotBuildOnBeforeARankStarts) {
  train_coder();
  const auto refused = [&](std::vector<std::string> words) {
    words.emplace_back("run.name=none");
    const auto end = train("refiner", words);
    EXPECT_FALSE(fs::exists(run("none"))) << end.err;
    return end;
  };
  const auto missing = refused({});
  EXPECT_EQ(missing.status, usage);
  EXPECT_THAT(missing.err, AllOf(HasSubstr("needs a run of the stage coder"), HasSubstr("from.coder=RUN")));
  const auto absent = refused({"from.coder=nowhere"});
  EXPECT_EQ(absent.status, usage);
  EXPECT_THAT(absent.err, AllOf(HasSubstr("from.coder"), HasSubstr("there is no run nowhere")));
  EXPECT_THAT(refused({"from.coder=coder#step-00000009"}).err, HasSubstr("has no checkpoint step-00000009"));
  EXPECT_THAT(refused({"from.coder=coder#newest"}).err, HasSubstr("has no checkpoint newest"));
  const auto unfit = refused({"from.coder=coder", "model.in_channels=2"});
  EXPECT_EQ(unfit.status, usage);
  EXPECT_THAT(unfit.err, HasSubstr("from.coder takes images of 1 channels"));

  ASSERT_EQ(train("refiner", {"run.name=refiner", "from.coder=coder"}).status, 0);
  const auto stage = refused({"from.coder=refiner"});
  EXPECT_EQ(stage.status, usage);
  EXPECT_THAT(stage.err, HasSubstr("is a run of the stage refiner of toy, and one of the stage coder"));
}

TEST_F(Stages, RefuseADamagedCheckpointAndDamagedKeptWeights) {
  train_coder();
  ASSERT_EQ(train("refiner", {"run.name=refiner", "from.coder=coder", "--steps", "2"}).status, 0);
  // A copy, since what is kept may be the same file.
  const auto damage = [&](const fs::path& file) {
    auto bytes = read_text(file);
    bytes[bytes.size() - 3] ^= 1;
    fs::remove(file);
    DiskStorage storage;
    write_text(storage, file, bytes);
  };
  damage(run("coder") / "checkpoints" / "step-00000004" / "model.safetensors");
  const auto fresh = train("refiner", {"run.name=fresh", "from.coder=coder#last"});
  EXPECT_EQ(fresh.status, damaged);
  EXPECT_THAT(fresh.err, AllOf(HasSubstr("from.coder"), HasSubstr("is damaged")));
  damage(run("refiner") / "from" / "coder" / "model.safetensors");
  const auto kept = call({"train", "runs/refiner"});
  EXPECT_EQ(kept.status, damaged);
  EXPECT_THAT(kept.err, HasSubstr("is not what it was"));
}

TEST_F(Stages, OfARunCannotBeExchanged) {
  train_coder();
  ASSERT_EQ(train("refiner", {"run.name=refiner", "from.coder=coder"}).status, 0);
  const auto end = call({"evaluate", "runs/refiner", "from.coder=coder"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("a run keeps what it was started with"));
}

TEST_F(AllStages, AreTrainedInOrderEachOnTheRunBeforeIt) {
  const auto end = chain({"--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("stage 1 of 2: coder (runs/toys-coder)"),
                             HasSubstr("stage 2 of 2: refiner (runs/toys-refiner)")));
  ASSERT_EQ(end.json().size(), 2U);
  EXPECT_EQ(end.json()[0]["steps"], 6) << "of the coder alone";
  EXPECT_EQ(end.json()[1]["steps"], 4);
  EXPECT_THAT(read_text(run("toys-refiner") / "config.yaml"), HasSubstr("channels: 5"));
  EXPECT_THAT(read_text(run("toys-coder") / "config.yaml"), HasSubstr("channels: 3"));
  EXPECT_EQ(read_text(run("toys-refiner") / "from" / "coder" / "model.safetensors"),
            read_text(run("toys-coder") / "checkpoints" / "best" / "model.safetensors"));
}

TEST_F(AllStages, RepeatNothingWhenTheyAreFinished) {
  ASSERT_EQ(chain().status, 0);
  const auto over = chain();
  EXPECT_EQ(over.status, 0);
  EXPECT_THAT(over.err, AllOf(HasSubstr("toys-coder is finished already"),
                              HasSubstr("toys-refiner is finished already")));
}

TEST_F(AllStages, GiveTheSameBitsWhenTheyAreStoppedAtEveryStepOfEachStage) {
  ASSERT_EQ(chain().status, 0);
  const auto coder = weights("coder"), refiner = weights("refiner");
  fs::remove_all(scratch_.path() / "runs");
  for (int64_t stop = 1; stop < 6; ++stop) {
    EXPECT_THAT(chain({"--steps", text(stop)}).err, HasSubstr("ended in stage 1 of 2: coder")) << stop;
    EXPECT_FALSE(fs::exists(run("toys-refiner")));
  }
  ASSERT_EQ(chain().status, 0);
  EXPECT_EQ(weights("coder"), coder);
  EXPECT_EQ(weights("refiner"), refiner);
  fs::remove_all(run("toys-refiner"));
  for (int64_t stop = 1; stop < 4; ++stop) {
    EXPECT_THAT(chain({"--steps", text(stop)}).err, AllOf(HasSubstr("toys-coder is finished already"),
                                                          HasSubstr("ended in stage 2 of 2: refiner")))
        << stop;
  }
  ASSERT_EQ(chain().status, 0);
  EXPECT_EQ(weights("refiner"), refiner);
}

TEST_F(AllStages, RefuseWordsThatMakeNoSenseForSeveral) {
  EXPECT_EQ(chain({"from.coder=elsewhere"}).status, usage);
  EXPECT_EQ(chain({"--resume", "never"}).status, usage);
  EXPECT_THAT(chain({"pretrain:train.length=1st"}).err, HasSubstr("toy has no stage pretrain"));
  EXPECT_THAT(chain({"train.lenght=1st"}).err, HasSubstr("did you mean train.length?"));
  EXPECT_FALSE(fs::exists(run("toys-coder")));
}

TEST_F(AllStages, ArePlannedBeforeAnyIsTrained) {
  const auto dry = chain({"--dry-run", "--json"});
  ASSERT_EQ(dry.status, 0) << dry.err;
  const auto plan = call({"plan", "toy", "--stage", "all", "-c", "tiny", "--ranks", "1", "--json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  for (const auto* stage : {"coder", "refiner"}) {
    EXPECT_EQ(dry.json()[stage]["micro_batch"], plan.json()[stage]["micro_batch"]);
    EXPECT_EQ(plan.json()[stage]["ranks"].size(), 1U);
  }
  EXPECT_FALSE(fs::exists(scratch_.path() / "runs"));
}

TEST_F(AllStages, AreAllLookedAtBeforeTheFirstIsTrained) {
  const auto without_data = chain({"refiner:data.kind=nifti", "refiner:data.folder=nowhere"});
  EXPECT_EQ(without_data.status, 3) << without_data.err;
  EXPECT_THAT(without_data.err, AllOf(HasSubstr("stage refiner"), HasSubstr("nowhere")));
  DiskStorage disk;
  write_text(disk, scratch_.path() / "sizes.yaml", "refiner: {model: {chanels: 4}}\n");
  const auto typed = chain({"-c", "sizes.yaml"});
  EXPECT_EQ(typed.status, usage) << typed.err;
  EXPECT_THAT(typed.err, AllOf(HasSubstr("sizes.yaml:1"), HasSubstr("model.channels")));
  EXPECT_FALSE(fs::exists(run("toys-coder")));
}

TEST_F(AllStages, HaveSectionsOfTheirOwnInOneFile) {
  DiskStorage disk;
  write_text(disk, scratch_.path() / "sizes.yaml",
             "coder: {train: {early_stopping: 7}}\nrefiner: {train: {early_stopping: 9}}\n");
  const auto end = call({"config", "show", "toy", "--stage", "all", "-c", "tiny", "-c", "sizes.yaml"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto second = end.out.find("stage refiner");
  EXPECT_THAT(end.out.substr(0, second), HasSubstr("early_stopping: 7"));
  EXPECT_THAT(end.out.substr(second), HasSubstr("early_stopping: 9"));
}

TEST_F(AllStages, ShowTheRunsThatTheyBuildOnWhereThereAreSome) {
  const auto shown = [&] {
    std::string from;
    const auto end =
        call({"config", "show", "toy", "--stage", "all", "-c", "tiny", "run.name=toys", "--json"});
    const auto stages = end.json();
    for (const auto& row : stages["refiner"]) {
      if (row["key"] == "from.coder") from = row["value"];
    }
    return from;
  };
  EXPECT_THAT(shown(), Not(HasSubstr("toys-coder")));
  ASSERT_EQ(chain().status, 0);
  EXPECT_THAT(shown(), HasSubstr("runs/toys-coder"));
}

TEST_F(AllStages, OfAJobFileAreTrainedAsTheyAreByOneCommand) {
  ASSERT_EQ(chain().status, 0);
  const auto coder = weights("coder"), refiner = weights("refiner");
  fs::remove_all(scratch_.path() / "runs");
  const auto words = words_of("all", {"run.name=toys", "coder:train.length=6st", "refiner:model.channels=5"});
  std::vector<std::string> job{"job",       "shell",    "--nodes", "1",     "--master",
                               "127.0.0.1", "--output", "job.sh",  "--json"};
  job.insert(job.end(), words.begin(), words.end());
  const auto written = call(job);
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.json()["runs"], Json::array({"toys-coder", "toys-refiner"}));
  const auto end = larmor_program({"job.sh", "0"}, {.folder = scratch_.path(), .program = "/bin/sh"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(weights("coder"), coder);
  EXPECT_EQ(weights("refiner"), refiner);
}

TEST_F(AllStages, OfAJobFileAreOneStepThatIsQueuedAgainWhenItWasStopped) {
  const auto slurm = call({"job", "slurm", "toy", "--stage", "all", "-c", "tiny", "--nodes", "1",
                           "--cpus-per-task", "1", "--time", "60", "run.name=toys"});
  ASSERT_EQ(slurm.status, 0) << slurm.err;
  put_file(scratch_.path() / "job.sh", slurm.out);
  put_file(scratch_.path() / "srun", "#!/bin/sh\necho \"$@\" >>started\nexit $(cat status)\n");
  put_file(scratch_.path() / "scontrol", "#!/bin/sh\necho \"$@\" >>requeued\n");
  for (const auto* name : {"srun", "scontrol"}) fs::permissions(scratch_.path() / name, fs::perms::owner_all);
  const auto started = [&](const std::string& status) {
    fs::remove(scratch_.path() / "started");
    put_file(scratch_.path() / "status", status);
    const auto end = larmor_program(
        {"job.sh"},
        {.folder = scratch_.path(),
         .environment = {{"PATH", scratch_.path().string() + ":/usr/bin:/bin"}, {"SLURM_JOB_ID", "7"}},
         .program = "/bin/bash"});
    EXPECT_EQ(text(end.status), status) << end.err;
    return read_text(scratch_.path() / "started");
  };
  const auto one = started("0");
  EXPECT_THAT(
      one, AllOf(HasSubstr("train toy"), HasSubstr("--stage all"), HasSubstr("run.name=toys --nnodes auto")));
  EXPECT_EQ(std::ranges::count(one, '\n'), 1) << "all stages are one step: " << one;
  EXPECT_FALSE(fs::exists(scratch_.path() / "requeued"));
  EXPECT_EQ(started("75"), one) << "the same command";
  EXPECT_TRUE(fs::exists(scratch_.path() / "requeued")) << "the job goes back into the queue";
}

TEST_F(Stages, AreListedWithWhatTheyNeed) {
  for (const auto& workload : call({"list", "--json"}).json()) {
    if (workload["workload"] != "toy") continue;
    EXPECT_EQ(workload["stage_details"][1]["stage"], "refiner");
    EXPECT_EQ(workload["stage_details"][1]["needs"], Json::array({"coder"}));
    return;
  }
  ADD_FAILURE() << "no toy";
}

}  // namespace
}  // namespace larmor::testing

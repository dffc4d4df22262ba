// `from.run`: a new run begins with what another run of its stage has trained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/toy_stages.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int usage = 2, damaged = 7, killed = 8;

class BegunRun : public Stages {
 protected:
  std::string file(const std::string& name, const std::string& checkpoint = "last",
                   const std::string& what = "model.safetensors") const {
    return read_text(run(name) / "checkpoints" / checkpoint / what);
  }
  /// A run of the coder whose first step moves nothing.
  Finished stands_still(const std::string& name, std::vector<std::string> more) const {
    more.insert(more.end(),
                {"run.name=" + name, "optim.learning_rate=0", "--steps", "1", "checkpoint.every=1st"});
    return train("coder", std::move(more));
  }
};

TEST_F(BegunRun, HasTheWeightsOfTheCheckpointThatItBeginsWith) {
  train_coder();
  ASSERT_NE(file("coder", "step-00000002"), file("coder", "step-00000004"));
  const auto best = stands_still("best", {"from.run=coder"});
  ASSERT_EQ(best.status, 0) << best.err;
  EXPECT_EQ(file("best"), file("coder", "best"));
  EXPECT_THAT(best.err, AllOf(HasSubstr("begins with the weights of "), HasSubstr(", its best)")));
  const auto last = stands_still("last", {"from.run=runs/coder#last", "--ranks", "2"});
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(file("last"), file("coder"));
  ASSERT_EQ(stands_still("named", {"from.run=coder#step-00000002"}).status, 0);
  EXPECT_EQ(file("named"), file("coder", "step-00000002"));
  const auto path = (run("coder") / "checkpoints" / "step-00000002").string();
  ASSERT_EQ(stands_still("path", {"from.run=" + path, "--ranks", "2", "parallel.strategy=zero3"}).status, 0);
  EXPECT_EQ(file("path"), file("coder", "step-00000002"));
  ASSERT_EQ(stands_still("alone", {}).status, 0);
  EXPECT_NE(file("alone"), file("coder")) << "without the word nothing is taken over";
}

TEST_F(BegunRun, TakesTheLastWhereNoneHasAValidation) {
  ASSERT_EQ(train("coder", {"run.name=coder", "train.validate_every=0", "--steps", "3"}).status, 0);
  const auto end = stands_still("next", {"from.run=coder"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("(step-00000003, its last)"));
  EXPECT_EQ(file("next"), file("coder"));
}

TEST_F(BegunRun, OfAnyStrategyBeginsOneOfAnyOther) {
  ASSERT_EQ(
      train("coder", {"run.name=coder", "--ranks", "2", "parallel.strategy=zero3", "optim.ema_decay=0.5"})
          .status,
      0);
  for (const auto* strategy : {"single", "zero1", "zero3"}) {
    const auto ranks = std::string(strategy) == "single" ? "1" : "2";
    const auto end =
        stands_still(strategy, {"from.run=coder#last", "--ranks", ranks, text("parallel.strategy=", strategy),
                                "optim.ema_decay=0.5", "from.optimizer=true"});
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_EQ(file(strategy), file("coder")) << strategy;
  }
}

TEST_F(BegunRun, WithItsOptimizerGoesOnAsALongerRunWhereNoOrderAndNoDrawsCount) {
  // The two examples of each step are summed, and nothing is drawn for them.
  const auto steps = [&](const std::string& name, int count, std::vector<std::string> more = {}) {
    more.insert(more.end(), {"run.name=" + name, text("train.length=", count, "st"), "data.phantom_cases=4",
                             "data.split={train: 0.5, val: 0.5, test: 0}", "data.transforms=[]",
                             "train.global_batch=2", "optim.schedule.name=constant", "optim.ema_decay=0.9",
                             "--ranks", "2", "parallel.strategy=zero2"});
    const auto end = train("coder", std::move(more));
    ASSERT_EQ(end.status, 0) << end.err;
  };
  steps("whole", 7);
  steps("first", 4);
  steps("second", 3, {"from.run=first#last", "from.optimizer=true"});
  EXPECT_EQ(file("second"), file("whole"));
  EXPECT_EQ(file("second", "last", "ema.safetensors"), file("whole", "last", "ema.safetensors"));
  steps("without", 3, {"from.run=first#last"});
  EXPECT_NE(file("without"), file("whole")) << "the optimizer's state counts";
}

TEST_F(BegunRun, TakesTheAveragedWeightsOfAStageThatPredictsByThemAlone) {
  const auto trained = [&](const std::string& workload, std::vector<std::string> words) {
    words.insert(words.begin(), {"train", workload, "-c", "tiny", "--ranks", "1", "train.length=4st",
                                 "train.global_batch=2", "train.validate_every=4st", "checkpoint.every=1st",
                                 "optim.schedule.warmup=0", "optim.ema_decay=0.5"});
    const auto end = larmor_program(std::move(words), {.folder = scratch_.path()});
    EXPECT_EQ(end.status, 0) << end.err;
    return end.err;
  };
  const Words still{"optim.learning_rate=0", "--steps", "1", "from.run=source#last"};
  trained("fast_ddpm", {"run.name=source", "run.folder=by_average"});
  EXPECT_THAT(trained("fast_ddpm", Words{"run.name=next", "run.folder=by_average"} + still),
              HasSubstr("begins with the averaged weights of "));
  const auto in = [&](const std::string& path) { return read_text(scratch_.path() / path); };
  const auto average = in("by_average/source/checkpoints/last/ema.safetensors");
  EXPECT_NE(average, in("by_average/source/checkpoints/last/model.safetensors"));
  EXPECT_EQ(in("by_average/next/checkpoints/last/model.safetensors"), average);
  EXPECT_EQ(in("by_average/next/checkpoints/last/ema.safetensors"), average) << "it begins there, too";

  const std::string adversary = "model.discriminator.safetensors";
  trained("latent_diffusion", {"run.name=source", "loss.adversarial_start=0"});
  EXPECT_THAT(trained("latent_diffusion", Words{"run.name=next", "loss.adversarial_start=0"} + still),
              HasSubstr("begins with the weights of "));
  EXPECT_EQ(file("next"), file("source"));
  EXPECT_EQ(file("next", "last", adversary), file("source", "last", adversary));
}

TEST_F(BegunRun, IsRefusedBeforeARankStartsWhereItDoesNotFit) {
  train_coder();
  ASSERT_EQ(train("refiner", {"run.name=refiner", "from.coder=coder"}).status, 0);
  const auto refused = [&](std::vector<std::string> words) {
    words.emplace_back("run.name=none");
    const auto end = train("coder", words);
    EXPECT_EQ(end.status, usage) << end.err;
    EXPECT_FALSE(fs::exists(run("none"))) << end.err;
    return end.err;
  };
  EXPECT_THAT(
      refused({"from.run=coder", "model.channels=5"}),
      AllOf(
          HasSubstr("coder: decoder.blocks.0.conv.weight is [3, 2, 3, 3, 3] there and [5, 2, 3, 3, 3] here"),
          HasSubstr("-c ")));
  EXPECT_THAT(refused({"from.run=refiner"}),
              HasSubstr("is a run of the stage refiner of toy, and one of the stage coder of toy is needed"));
  EXPECT_THAT(refused({"from.run=nowhere"}), HasSubstr("from.run: there is no run nowhere"));
  EXPECT_THAT(refused({"from.run=coder#newest"}), HasSubstr("has no checkpoint newest"));
  EXPECT_THAT(refused({"from.run=coder", "from.optimizer=true", "optim.name=sgd"}),
              HasSubstr("its optimizer is adamw there and sgd here"));
  EXPECT_THAT(refused({"from.optimizer=true"}), HasSubstr("from.run names no run"));
  EXPECT_THAT(refused({"-c", (run("refiner") / "config.yaml").string(), "from.run=coder"}),
              HasSubstr("from.coder"));
  const auto planned = train("coder", {"from.run=coder", "model.channels=5", "--dry-run"});
  EXPECT_EQ(planned.status, usage) << "a plan says so, too";
  put_file(run("coder") / "checkpoints" / "step-00000004" / "model.safetensors", "no tensors");
  EXPECT_EQ(stands_still("none", {"from.run=coder#last"}).status, damaged);
}

TEST_F(BegunRun, BringsWhatTheOtherWasBuiltOnAndNeedsNeitherAfterwards) {
  train_coder();
  ASSERT_EQ(train("refiner", {"run.name=refiner", "from.coder=coder"}).status, 0);
  fs::remove_all(run("coder"));
  const std::vector<std::string> words{"run.name=next", "from.run=refiner", "optim.weight_decay=0.1"};
  auto stopped = words;
  stopped.insert(stopped.end(), {"--steps", "2"});
  ASSERT_EQ(train("refiner", stopped).status, 0);
  EXPECT_EQ(read_text(run("next") / "from" / "coder" / "model.safetensors"),
            read_text(run("refiner") / "from" / "coder" / "model.safetensors"));
  fs::remove_all(run("refiner"));
  const auto again = train("refiner", words);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(train("refiner", words).err,
              AllOf(HasSubstr("from.run="), HasSubstr("runs/next begins another run")));
  EXPECT_EQ(call({"evaluate", "next"}).status, 0);
}

TEST_F(BegunRun, KeepsTheWeightsUntilItHasACheckpointOfItsOwn) {
  train_coder();
  const std::vector<std::string> words{"from.run=coder", "from.optimizer=true", "optim.weight_decay=0.1"};
  auto whole = words, shot = words;
  whole.emplace_back("run.name=whole");
  shot.emplace_back("run.name=shot");
  ASSERT_EQ(train("coder", whole).status, 0);
  shot.insert(shot.begin(), "train");
  auto command = words_of("coder", {shot.begin() + 1, shot.end()});
  command.insert(command.begin(), "train");
  ASSERT_EQ(call(command, {{"LARMOR_FAULT", "rank=0 phase=computing step=1 do=kill"}}).status, killed);
  fs::remove_all(run("coder"));
  const auto end = call({"train", "shot"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(file("shot"), file("whole"));
  EXPECT_TRUE(fs::exists(run("shot") / "from" / "run" / "trained_on.json"));
  EXPECT_FALSE(fs::exists(run("shot") / "from" / "run" / "step-00000004"));
}

TEST_F(BegunRun, IsNotJudgedByWhomTheOtherHasTrainedOn) {
  train_coder();
  const auto begun = train("coder", {"run.name=next", "from.run=coder", "run.seed=7"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  EXPECT_THAT(begun.err, HasSubstr("of val and test trained the weights that this run begins with"));
  ASSERT_EQ(train("coder", {"run.name=alone", "run.seed=7"}).status, 0);
  const auto judge = [&](const std::string& name) {
    const auto end = call({"evaluate", name, "--quick", "--json"});
    EXPECT_EQ(end.status, 0) << end.err;
    return end.json();
  };
  const auto alone = judge("alone"), next = judge("next");
  ASSERT_FALSE(alone.contains("trained_on"));
  ASSERT_TRUE(next.contains("trained_on"));
  EXPECT_EQ(next["n"].get<size_t>() + next["trained_on"].size(), alone["n"].get<size_t>());
  // It is handed on: the run after that one knows of both.
  ASSERT_EQ(train("coder", {"run.name=third", "from.run=next", "run.seed=7", "optim.eps=1e-7"}).status, 0);
  EXPECT_EQ(judge("third")["trained_on"], next["trained_on"]);
}

TEST_F(BegunRun, MayBeOneStageOfAll) {
  train_coder("old");
  const auto end = train("all", {"run.name=toys", "coder:from.run=old", "coder:optim.learning_rate=0"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(file("toys-coder"), file("old", "best"));
  const auto plain = train("all", {"run.name=other", "from.run=old"});
  EXPECT_EQ(plain.status, usage);
  EXPECT_THAT(plain.err, HasSubstr("coder:from.run=old"));
}

TEST_F(BegunRun, IsAKeyOfTheSchemaAndOfNoOtherRun) {
  const auto schema = call({"config", "schema", "toy", "--json"}).json();
  EXPECT_EQ(schema["properties"]["from"]["properties"]["optimizer"]["type"], "boolean");
  train_coder();
  const auto end = call({"train", "coder", "from.run=coder"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("a run keeps what it was started with"));
}

}  // namespace
}  // namespace larmor::testing

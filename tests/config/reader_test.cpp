#include "larmor/config/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(Reader, ListsEveryKeyOfTheWorkloadAndItsObjectives) {
  MadeUpWorkload workload;
  const KeyList keys = list_keys(workload.fields());
  for (const char* key :
       {"run.seed", "data.split.by", "model.channels", "loss.discriminator.channels", "optim.schedule.warmup",
        "optim.generator.schedule.warmup", "optim.discriminator.eps"}) {
    EXPECT_THAT(keys.leaves, Contains(key));
  }
  EXPECT_THAT(keys.sections, Contains("optim.generator.schedule"));
}

TEST(Reader, FillsAWorkloadsOwnFields) {
  const ConfigFile file(
      "model: {channels: [8, 16], attention_levels: [true, false], nonlocal_attention: true,\n"
      "        memory_limit: 2GiB, norm_eps: 1.0e-5}\nloss: {recon_loss: l2, discriminator: {channels: "
      "4}}\n");
  MadeUpWorkload workload;
  load(file.sources(), &workload);
  EXPECT_EQ(workload.channels, (std::vector<int64_t>{8, 16}));
  EXPECT_EQ(workload.attention_levels, (std::vector<bool>{true, false}));
  EXPECT_EQ(workload.nonlocal_attention, true);
  EXPECT_EQ(workload.memory_limit, uint64_t{2} << 30);
  EXPECT_EQ(workload.norm_eps, 1e-5);
  EXPECT_EQ(workload.recon_loss, "l2");
  EXPECT_EQ(workload.discriminator_channels, 4);
}

TEST(Reader, NamesTheOriginThatAnotherValueHad) {
  const ConfigFile file("train:\n  length: 7ep\n  early_stopping: 0\n");
  Sources sources = file.sources();
  sources.overrides = {"train.length=9ep", "train.early_stopping=0"};
  const LoadedConfig loaded = load(sources);
  EXPECT_EQ(origin_of(loaded, "train.length").origin, "command line");
  EXPECT_EQ(origin_of(loaded, "train.length").overrode, "default.yaml:2");
  EXPECT_EQ(origin_of(loaded, "train.early_stopping").origin, "command line");
  EXPECT_EQ(origin_of(loaded, "train.early_stopping").overrode, "") << "no other value was given";
}

TEST(Reader, StartsAnObjectiveFromWhatAllSourcesMadeOfOptim) {
  const ConfigFile file("optim: {learning_rate: 1.0e-3, discriminator: {eps: 1.0e-5}}\n");
  Sources sources = file.sources();
  sources.overrides = {"optim.learning_rate=3e-3", "optim.schedule.warmup=5ep"};
  const LoadedConfig loaded = load(sources);
  const OptimConfig& own = loaded.config.objectives.at("discriminator");
  EXPECT_EQ(own.learning_rate, 3e-3);
  EXPECT_EQ(own.schedule.warmup, parse_length("5ep"));
  EXPECT_EQ(own.eps, 1e-5);
  EXPECT_EQ(loaded.config.objectives.at("generator").eps, 1e-8);
  EXPECT_EQ(origin_of(loaded, "optim.discriminator.eps").origin, "default.yaml:1");
  EXPECT_TRUE(origin_of(loaded, "optim.discriminator.learning_rate").is_inherited());
  EXPECT_TRUE(origin_of(loaded, "optim.discriminator.schedule.warmup").is_inherited());
}

TEST(Reader, RefusesValuesWhereSectionsStand) {
  EXPECT_THAT(refusal_of_overrides({"train=3"}), HasSubstr("train is a section with keys of its own, got 3"));
  EXPECT_THAT(refusal_of_overrides({"optim.generator=[1]"}), HasSubstr("optim.generator is a section"));
  EXPECT_THAT(refusal_of_overrides({"train.length.steps=3"}), HasSubstr("train.length has to be a length"));
  EXPECT_THAT(refusal_of_overrides({"train.length.steps=3"}), HasSubstr("got a mapping"));
}

TEST(Reader, TakesAnEmptySectionForSilence) {
  const ConfigFile file("train:\noptim:\n  schedule:\nmodel: {}\n");
  EXPECT_EQ(load(file.sources()).sha256(), load({}).sha256());
}

TEST(Reader, SuggestsTheSectionOfAWordThatStandsInAnother) {
  EXPECT_THAT(refusal_of_overrides({"train.learning_rate=1"}),
              HasSubstr("did you mean optim.learning_rate?"));
  EXPECT_THAT(refusal_of_overrides({"global_batch=1"}), HasSubstr("did you mean train.global_batch?"));
  EXPECT_THAT(refusal_of_overrides({"trian.length=1ep"}),
              HasSubstr("trian.length is not a key; did you mean train.length?"));
  const ConfigFile file("trian:\n  length: 1ep\n  global_batch: 2\n");
  EXPECT_THAT(refusal_of(file.sources()),
              HasSubstr("default.yaml:1: trian is not a key; did you mean train?"));
}

TEST(Reader, KnowsOnlyTheObjectivesOfTheWorkload) {
  EXPECT_THAT(refusal_of_overrides({"optim.critic.learning_rate=1"}),
              HasSubstr("optim.critic.learning_rate is not a key"));
  EXPECT_THAT(refusal_of_overrides({"optim.generater.name=sgd"}),
              HasSubstr("did you mean optim.generator.name?"));
}

}  // namespace
}  // namespace larmor

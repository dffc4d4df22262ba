// What other programs were told, as a config of ours: every key has become one of ours, or is told.
#include "larmor/config/imported_config.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ValueMap = std::map<std::string, std::string>;

const GuideFiles no_files;
const std::vector<std::string> one_stage{"first"};
const ForeignFlags answers{{"timesteps", "say `model.steps=`"}, {"debug", "say `-c debug`"}};

ImportedConfig imported(const std::string& line, bool batch_is_of_all = false) {
  return import_command(
      split(line, ' '),
      {.guide_files = no_files, .stages = one_stage, .flags = answers, .batch_is_of_all = batch_is_of_all});
}

ImportedConfig imported_file(const std::string& content) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "theirs";
  std::ofstream(file) << content;
  return import_file(
      file, {.guide_files = no_files, .stages = one_stage, .flags = answers, .batch_is_of_all = false});
}

ValueMap values_of(const ImportedConfig& config) {
  ValueMap values;
  for (const auto& one : config.values) values[one.key] = one.value;
  return values;
}

std::string fault_of(const std::string& line) {
  try {
    imported(line);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(ImportedConfig, OfTorchrunHasTheRanksOfAllHosts) {
  const auto one = imported(
      "torchrun --nproc_per_node=4 --nnodes=2 --node_rank=1 --master_addr=10.0.0.1 --master_port=29500 "
      "train.py --batch_size 8 --epochs 20 --lr 2e-4 --amp --timesteps 50 --config my.yml");
  EXPECT_EQ(values_of(one), (ValueMap{{"parallel.ranks", "8"},
                                      {"train.micro_batch", "8"},
                                      {"train.length", "20ep"},
                                      {"train.precision", "auto"},
                                      {"optim.learning_rate", "2e-4"},
                                      {"model.steps", "50"}}));
  EXPECT_THAT(one.flags, ElementsAre("-c my.yml", "--nnodes 2", "--node-rank 1", "--master-addr 10.0.0.1",
                                     "--master-port 29500"));
  EXPECT_EQ(values_of(imported("python a.py --batch_size 8", true)), (ValueMap{{"train.global_batch", "8"}}));
}

TEST(ImportedConfig, OfAccelerateAndDeepSpeedHasTheirsToo) {
  EXPECT_EQ(
      values_of(imported("accelerate launch --multi_gpu --num_processes=4 --mixed_precision=fp16 a.py")),
      (ValueMap{{"parallel.ranks", "4"}, {"parallel.strategy", "ddp"}, {"train.precision", "fp16"}}));
  EXPECT_EQ(values_of(imported("accelerate launch --use_deepspeed --zero_stage 3 a.py")),
            (ValueMap{{"parallel.strategy", "zero3"}}));
  const auto deepspeed = imported("deepspeed --num_gpus=4 a.py --deepspeed ds.json --use_deepspeed");
  EXPECT_EQ(values_of(deepspeed), (ValueMap{{"parallel.ranks", "4"}, {"parallel.strategy", "zero2"}}));
  EXPECT_THAT(deepspeed.flags, ElementsAre("-c ds.json"));
}

TEST(ImportedConfig, TakesTheFlagsOfTrackers) {
  EXPECT_EQ(values_of(imported("python a.py --use_wandb --wandb_project brains --wandb_entity lab")),
            (ValueMap{{"track.wandb.enabled", "true"},
                      {"track.wandb.project", "brains"},
                      {"track.wandb.entity", "lab"}}));
}

TEST(ImportedConfig, TellsTheFlagsThatBecomeNone) {
  const auto one = imported("python a.py --compile --debug");
  EXPECT_TRUE(one.values.empty());
  EXPECT_THAT(one.notes, Contains(HasSubstr("compile: leave it out")));
  EXPECT_THAT(one.notes, Contains(HasSubstr("say `-c debug`")));
}

TEST(ImportedConfig, RefusesWhatNobodyKnowsAndWhatContradictsItself) {
  EXPECT_THAT(fault_of("python a.py --epohcs 3"), HasSubstr("did you mean epochs?"));
  EXPECT_THAT(fault_of("python a.py --lr 1e-4 --learning_rate 2e-4"), HasSubstr("take one of them out"));
  EXPECT_THAT(fault_of("python a.py --epochs many"), HasSubstr("number above 0"));
  const auto both = fault_of("torchrun --nproc_per_nod 2 a.py --epohcs 3");
  EXPECT_THAT(both, HasSubstr("epohcs"));
  EXPECT_THAT(both, HasSubstr("did you mean nproc_per_node?")) << "all at once";
}

TEST(ImportedConfig, NamesTheKeyBehindEachLine) {
  const auto one = imported_file(
      R"({"train_micro_batch_size_per_gpu": 2, "gradient_clipping": 0.5, "wall_clock_breakdown": true,
          "zero_optimization": {"stage": 2}})");
  EXPECT_EQ(one.to_yaml(),
            "optim:\n  clip_norm: 0.5  # from gradient_clipping\n"
            "parallel:\n  strategy: zero2  # from zero_optimization.stage\n"
            "train:\n  micro_batch: 2  # from train_micro_batch_size_per_gpu\n");
  EXPECT_THAT(one.notes, ElementsAre(HasSubstr("wall_clock_breakdown has no meaning here")));
  EXPECT_EQ(values_of(imported_file("distributed_type: MULTI_GPU\nnum_processes: 2\n")),
            (ValueMap{{"parallel.ranks", "2"}, {"parallel.strategy", "ddp"}}));
}

TEST(ImportedConfig, IsNotMadeOfAFileOfOurs) {
  EXPECT_THROW(imported_file("train: {length: 1ep}\n"), Error);
  EXPECT_THROW(imported_file("{\"train_batch_size\": "), Error);
}

}  // namespace
}  // namespace larmor

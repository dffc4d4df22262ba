// What accelerate asks for, in its file and in the variables of the processes that it starts: taken, refused
// where a person says something else, and never dropped in silence.
#include "larmor/config/foreign/accelerate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/config/tree.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor::accelerate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Environment = std::map<std::string, std::string>;

// As `accelerate config` writes it, with DeepSpeed on two hosts.
constexpr const char* deepspeed_yaml = R"(
compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  deepspeed_multinode_launcher: standard
  gradient_accumulation_steps: 4
  gradient_clipping: 2.0
  offload_optimizer_device: cpu
  offload_param_device: none
  zero3_init_flag: false
  zero_stage: 2
distributed_type: DEEPSPEED
downcast_bf16: 'no'
enable_cpu_affinity: false
machine_rank: 1
main_process_ip: 10.0.0.1
main_process_port: 29500
main_training_function: main
mixed_precision: fp16
num_machines: 2
num_processes: 8
rdzv_backend: static
same_network: true
tpu_env: []
tpu_use_cluster: false
tpu_use_sudo: false
use_cpu: false
)";

struct Translated {
  explicit Translated(const std::string& content)
      : root(parse_config(content, source, problems)), translation(translate_accelerate(root, problems)) {}
  std::string value(std::string_view key) const {
    const Entry* const found = find_value(translation.tree, key);
    return found == nullptr ? "" : found->value.text;
  }

  Source source{.name = "default_config.yaml", .short_name = "default_config.yaml", .is_file = true};
  Problems problems;
  Node root;
  Translation translation;
};

TEST(Accelerate, ItsFileSaysWhatItAsksForInOurKeys) {
  const Translated one(deepspeed_yaml);
  EXPECT_THAT(one.problems, IsEmpty());
  EXPECT_EQ(one.value("parallel.strategy"), "zero2");
  EXPECT_EQ(one.value("parallel.offload"), "optimizer");
  EXPECT_EQ(one.value("parallel.ranks"), "8");
  EXPECT_EQ(one.value("train.accumulation"), "4");
  EXPECT_EQ(one.value("train.precision"), "fp16");
  EXPECT_EQ(one.value("optim.clip_norm"), "2.0");
  EXPECT_THAT(one.translation.flags,
              ElementsAre("--node-rank 1", "--master-addr 10.0.0.1", "--master-port 29500", "--nnodes 2"));
  EXPECT_EQ(one.translation.came_from.at("optim.clip_norm"), "deepspeed_config.gradient_clipping");
  EXPECT_EQ(one.translation.notes.size(), 25U) << "a line for each key";
}

TEST(Accelerate, ItsShardingIsOurs) {
  const Translated first(
      "distributed_type: FSDP\nnum_processes: 2\nfsdp_config: {fsdp_sharding_strategy: "
      "SHARD_GRAD_OP, fsdp_reshard_after_forward: FULL_SHARD, fsdp_offload_params: false, "
      "fsdp_activation_checkpointing: true}\n");
  EXPECT_THAT(first.problems, IsEmpty());
  EXPECT_EQ(first.value("parallel.strategy"), "zero2");
  EXPECT_EQ(first.value("train.activation_checkpointing"), "blocks");
  const Translated second(
      "distributed_type: FSDP\nfsdp_config: {fsdp_version: 2, fsdp_sharding_strategy: "
      "NO_SHARD, fsdp_reshard_after_forward: true}\n");
  EXPECT_THAT(second.problems, IsEmpty());
  EXPECT_EQ(second.value("parallel.strategy"), "zero3");
}

TEST(Accelerate, WhatItAsksForAndCannotHaveIsAFault) {
  for (const auto& [content, what] : std::vector<std::pair<std::string, std::string>>{
           {"distributed_type: XLA\n", "has to be NO or MULTI_GPU"},
           {"compute_environment: AMAZON_SAGEMAKER\n", "not LOCAL_MACHINE"},
           {"num_processes: 2\nmixed_precision: fp8\n", "has to be no or fp16 or bf16"},
           {"num_processes: 2\nmixed_precisoin: bf16\n", "did you mean mixed_precision?"},
           {"deepspeed_config: {zero_stage: 7}\n", "has to be 0 or 1 or 2 or 3"},
           {"deepspeed_config: {offload_optimizer_device: nvme}\n", "has to be none or cpu"},
           {"distributed_type: MULTI_GPU\ndeepspeed_config: {zero_stage: 3}\n", "take one of them out"}}) {
    const Translated one(content);
    ASSERT_EQ(one.problems.size(), 1U) << content;
    EXPECT_THAT(one.problems[0].what, HasSubstr(what)) << content;
  }
}

LoadedConfig under(const Environment& environment, std::vector<std::string> overrides = {}) {
  const ConfigFile file("train: {length: 1ep}\n");
  auto sources = file.sources();
  sources.environment = environment;
  sources.overrides = std::move(overrides);
  return load(sources);
}

std::string fault_under(const Environment& environment, std::vector<std::string> overrides) {
  try {
    under(environment, std::move(overrides));
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(Accelerate, ItsPrecisionIsThatOfTheRun) {
  const auto loaded = under({{"ACCELERATE_MIXED_PRECISION", "bf16"}, {"ACCELERATE_USE_CPU", "True"}});
  EXPECT_EQ(loaded.config.train.precision, "bf16");
  EXPECT_EQ(loaded.config.parallel.device, "cpu");
  EXPECT_EQ(origin_of(loaded, "train.precision").origin, "environment ACCELERATE_MIXED_PRECISION");
  EXPECT_THAT(loaded.notes, Contains(HasSubstr("train.precision=bf16")));
  EXPECT_EQ(under({}).config.train.precision, "auto");
  EXPECT_EQ(under({{"ACCELERATE_MIXED_PRECISION", "bf16"}}, {"train.precision=bf16"}).config.train.precision,
            "bf16");
}

TEST(Accelerate, ItsPrecisionAndAnotherOneOfAPersonAreAFault) {
  for (const char* ours : {"fp32", "fp16", "auto"}) {
    const auto fault =
        fault_under({{"ACCELERATE_MIXED_PRECISION", "bf16"}}, {text("train.precision=", ours)});
    EXPECT_THAT(fault, HasSubstr(text("train.precision is ", ours,
                                      ", and environment ACCELERATE_MIXED_PRECISION asks for bf16")));
  }
  EXPECT_THAT(fault_under({{"ACCELERATE_MIXED_PRECISION", "fp8"}}, {}), HasSubstr("has to be no or fp16"));
}

TEST(Accelerate, WhereNobodyChoseAPrecisionOursStays) {
  const auto loaded = under({{"ACCELERATE_MIXED_PRECISION", "no"}}, {"train.precision=fp16"});
  EXPECT_EQ(loaded.config.train.precision, "fp16");
  EXPECT_THAT(loaded.notes, ElementsAre(HasSubstr("train.precision stays as it is")));
}

TEST(Accelerate, ItsDeepSpeedAndShardingAreTaken) {
  const auto zero = under({{"ACCELERATE_USE_DEEPSPEED", "true"},
                           {"ACCELERATE_DEEPSPEED_ZERO_STAGE", "3"},
                           {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "cpu"},
                           {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "none"},
                           {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "2"},
                           {"ACCELERATE_GRADIENT_CLIPPING", "none"}});
  EXPECT_EQ(origin_of(zero, "parallel.strategy").value, "zero3");
  EXPECT_EQ(origin_of(zero, "parallel.offload").value, "optimizer");
  EXPECT_EQ(origin_of(zero, "train.accumulation").value, "2");
  const auto sharded = under({{"ACCELERATE_USE_FSDP", "true"},
                              {"FSDP_VERSION", "1"},
                              {"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"},
                              {"FSDP_RESHARD_AFTER_FORWARD", "full_shard"},
                              {"FSDP_STATE_DICT_TYPE", "FULL_STATE_DICT"}});
  EXPECT_EQ(origin_of(sharded, "parallel.strategy").value, "zero2");
  EXPECT_EQ(origin_of(under({{"FSDP_SHARDING_STRATEGY", "SHARD_GRAD_OP"}}), "parallel.strategy").value,
            "auto")
      << "nobody asked for it";
}

TEST(Accelerate, AVariableThatNobodyKnowsIsNamed) {
  EXPECT_THAT(under({{"ACCELERATE_NEW_TRICK", "true"}, {"DEEPSPEED_TRICK", "2"}}).notes,
              ElementsAre(HasSubstr("environment ACCELERATE_NEW_TRICK: is not known here"),
                          HasSubstr("environment DEEPSPEED_TRICK: is not known here")));
  EXPECT_THAT(under({{"ACCELERATE_USE_MEGATRON_LM", "true"}}).notes,
              ElementsAre(HasSubstr("is not supported: layers are not split over ranks")));
  EXPECT_THAT(under({{"ACCELERATE_DYNAMO_BACKEND", "no"},
                     {"ACCELERATE_DYNAMO_MODE", "default"},
                     {"ACCELERATE_DYNAMO_USE_DYNAMIC", "False"},
                     {"ACCELERATE_USE_CPU", "False"}})
                  .notes,
              IsEmpty())
      << "accelerate sets these whatever it is asked";
}

TEST(Accelerate, ARunGoesOnAsItBeganOrNotAtAll) {
  const auto run = under({}, {"train.precision=fp32"});
  EXPECT_NO_THROW(refuse_other_launch(run, {{"ACCELERATE_MIXED_PRECISION", "no"}}));
  EXPECT_THROW(refuse_other_launch(run, {{"ACCELERATE_MIXED_PRECISION", "bf16"}}), Error);
}

}  // namespace
}  // namespace larmor::accelerate

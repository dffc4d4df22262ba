// Flags of other programs, as the guides write them.
#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/config/reader.h"

#include "tests/config/support/made_up_workload.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

constexpr const char* guide_flags[] = {"--gpus",
                                       "--config-file",
                                       "--environment-file",
                                       "--amp",
                                       "--compile",
                                       "--no-images",
                                       "--local_rank",
                                       "--csv_path",
                                       "--batch_size",
                                       "--epochs",
                                       "--use_smart_cache",
                                       "--image_size",
                                       "--lr",
                                       "--world_size",
                                       "--cache_rate",
                                       "--replace_rate",
                                       "--num_workers",
                                       "--backend",
                                       "--pin_memory",
                                       "--log_dir",
                                       "--nproc_per_node",
                                       "--nnodes",
                                       "--node_rank",
                                       "--master_addr",
                                       "--master_port",
                                       "--data_root",
                                       "--use_wandb",
                                       "--wandb_project",
                                       "--use_ddp",
                                       "--multi_gpu",
                                       "--distributed",
                                       "--standalone",
                                       "--doc",
                                       "--num_processes",
                                       "--mixed_precision",
                                       "--wandb",
                                       "--method",
                                       "--checkpoint_dir",
                                       "--resume_from",
                                       "--num_gpus",
                                       "--use_deepspeed",
                                       "--deepspeed",
                                       "--auto_optimize",
                                       "--no_auto_optimize",
                                       "--logdir",
                                       "--workers",
                                       "--seed"};

// Of Lightning, Accelerate and DeepSpeed's launcher, and those of the guides' scripts that no hint knew for
// long.
constexpr const char* other_flags[] = {"-g",
                                       "--wandb_entity",
                                       "--save_every",
                                       "--validate_every",
                                       "--gpu_ids",
                                       "--num_machines",
                                       "--machine_rank",
                                       "--main_process_ip",
                                       "--main_process_port",
                                       "--max_samples",
                                       "--hostfile",
                                       "--include",
                                       "--fast_dev_run",
                                       "--accelerator",
                                       "--num_nodes",
                                       "--accumulate_grad_batches",
                                       "--profiler",
                                       "--profile",
                                       "--limit_train_batches",
                                       "--gradient_clip_val",
                                       "--logger",
                                       "--early_stopping",
                                       "--debug"};

// Of programs that spare memory.
constexpr const char* memory_flags[] = {
    "--zero_stage",  "--deepspeed_config",        "--offload_optimizer",
    "--cpu_offload", "--sync_batchnorm",          "--gradient_checkpointing",
    "--fsdp",        "--activation_checkpointing"};

TEST(ForeignFlags, AnswersTheFlagsThatSpareMemory) {
  for (const char* flag : memory_flags) {
    EXPECT_NE(hint_for_foreign_flag(flag), "") << flag;
    EXPECT_THAT(hint_for_foreign_flag(flag), ::testing::Not(HasSubstr("not part of this release"))) << flag;
  }
  EXPECT_THAT(hint_for_foreign_flag("--use_deepspeed"), HasSubstr("parallel.strategy=zero2"));
}

TEST(ForeignFlags, SaysWhichVerbsTakeTheFlagsOfSeveralHosts) {
  for (const char* flag : {"--nnodes", "--node_rank", "--master-addr", "--master_port"})
    EXPECT_THAT(hint_for_foreign_flag(flag), HasSubstr("`larmor launch` take it")) << flag;
}

TEST(ForeignFlags, AnswersEveryFlagOfTheGuides) {
  for (const char* flag : guide_flags) EXPECT_NE(hint_for_foreign_flag(flag), "") << flag;
}

TEST(ForeignFlags, AnswersThoseOfOtherLaunchersAndTrainers) {
  for (const char* flag : other_flags) EXPECT_NE(hint_for_foreign_flag(flag), "") << flag;
  EXPECT_THAT(hint_for_foreign_flag("--profile"), HasSubstr("bench step WORKLOAD --profile FILE"));
  EXPECT_THAT(hint_for_foreign_flag("--compile"), HasSubstr("train.graphs=auto"));
}

TEST(ForeignFlags, TakesDashesAndUnderscoresAlike) {
  const std::string answer = hint_for_foreign_flag("--batch_size");
  EXPECT_EQ(answer, "say `train.global_batch=` (all ranks together) or `train.micro_batch=` (per device)");
  EXPECT_EQ(hint_for_foreign_flag("--batch-size"), answer);
  EXPECT_EQ(hint_for_foreign_flag("--Batch_Size"), answer);
  EXPECT_EQ(hint_for_foreign_flag("batch_size"), answer);
}

TEST(ForeignFlags, AreAnsweredFirstByWhoeverKnowsThemBest) {
  const ForeignFlags own{{"batch-size", "say `model.batch=`"}, {"banana", "say `model.fruit=`"}};
  EXPECT_EQ(hint_for_foreign_flag("--Batch_Size", own), "say `model.batch=`");
  EXPECT_EQ(hint_for_foreign_flag("banana", own), "say `model.fruit=`");
  EXPECT_EQ(hint_for_foreign_flag("--lr", own), hint_for_foreign_flag("--lr"));
}

TEST(ForeignFlags, KnowsNothingOfOtherWords) {
  for (const char* flag : {"", "-", "--", "--banana", "--batch"})
    EXPECT_EQ(hint_for_foreign_flag(flag), "") << flag;
}

// A hint that sends people to a key that does not exist would be worse than none.
TEST(ForeignFlags, NamesOnlyKeysThatExist) {
  MadeUpWorkload workload;
  const KeyList keys = list_keys(workload.fields());
  std::vector<const char*> flags(std::begin(guide_flags), std::end(guide_flags));
  flags.insert(flags.end(), std::begin(memory_flags), std::end(memory_flags));
  for (const char* flag : flags) {
    std::istringstream words(hint_for_foreign_flag(flag));
    for (std::string word; words >> word;) {
      const size_t end = word.find('=');
      if (end == std::string::npos) continue;
      const std::string key = word.substr(word.find_first_not_of('`'), end - word.find_first_not_of('`'));
      if (key.starts_with("model.")) continue;  // the workload's own, whose tests know them
      EXPECT_NE(std::find(keys.leaves.begin(), keys.leaves.end(), key), keys.leaves.end())
          << flag << " names " << key;
    }
  }
}

TEST(ForeignFlags, AnswersForeignKeysToo) {
  EXPECT_THAT(refusal_of_overrides({"train.batch_size=4"}),
              HasSubstr("train.batch_size is not a key; say `train.global_batch=`"));
  EXPECT_THAT(refusal_of_overrides({"optim.lr=1"}), HasSubstr("say `optim.learning_rate=`"));
  EXPECT_THAT(refusal_of_overrides({"parallel.rank=1"}), HasSubstr("did you mean parallel.ranks?"));
}

}  // namespace
}  // namespace larmor

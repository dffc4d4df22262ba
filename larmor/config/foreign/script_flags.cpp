#include "larmor/config/foreign/script_flags.h"

#include <algorithm>
#include <array>

#include "larmor/base/text.h"
#include "larmor/config/foreign/accelerate.h"

namespace larmor {
namespace script_flags {
namespace {

using enum GuideKey::Way;

constexpr const char* own_ranks = "larmor starts its ranks itself, and takes those of torchrun as they are";
constexpr const char* by_hosts =
    "the same command is started on every host, with --nnodes N --node-rank R --master-addr HOST";

constexpr GuideKey of_launchers[] = {
    {"nproc_per_node", "parallel.ranks"},
    {"num_gpus", "parallel.ranks"},
    {"nnodes", "--nnodes {}", flag, "1"},
    {"num_nodes", "--nnodes {}", flag, "1"},
    {"node_rank", "--node-rank {}", flag},
    {"master_addr", "--master-addr {}", flag},
    {"master_port", "--master-port {}", flag},
    {"max_restarts", "--max-restarts {}", flag},
    {"hostfile", by_hosts, missing},
    {"include", "--ranks 0,2 says which GPUs of a host", missing},
    {"exclude", "--ranks 0,2 says which GPUs of a host", missing},
    {"standalone", own_ranks, unneeded},
    {"rdzv_backend", own_ranks, unneeded},
    {"rdzv_endpoint", "--master-addr and --master-port say where hosts meet", unneeded},
    {"rdzv_id", own_ranks, unneeded},
    {"rdzv_conf", own_ranks, unneeded},
    {"monitor_interval", own_ranks, unneeded},
    {"start_method", own_ranks, unneeded},
    {"log_dir", "logs lie in the run folder", unneeded},
    {"redirects", "logs lie in the run folder", unneeded},
    {"tee", "logs lie in the run folder", unneeded},
    {"use_env", own_ranks, unneeded},
    {"no_python", own_ranks, unneeded},
    {"m", own_ranks, unneeded},
    {"module", own_ranks, unneeded},
    {"u", own_ranks, unneeded},
    {"launcher", own_ranks, unneeded},
    {"force_multi", own_ranks, unneeded},
    {"no_local_rank", own_ranks, unneeded},
    {"no_ssh_check", own_ranks, unneeded},
    {"enable_each_rank_log", "logs lie in the run folder", unneeded},
};

constexpr GuideKey of_scripts[] = {
    {"batch_size_per_gpu", "train.micro_batch"},
    {"per_device_batch_size", "train.micro_batch"},
    {"per_device_train_batch_size", "train.micro_batch"},
    {"total_batch_size", "train.global_batch"},
    {"train_batch_size", "train.global_batch"},
    {"epochs", "train.length", counted, "ep"},
    {"num_epochs", "train.length", counted, "ep"},
    {"max_epochs", "train.length", counted, "ep"},
    {"n_epochs", "train.length", counted, "ep"},
    {"num_train_epochs", "train.length", counted, "ep"},
    {"max_steps", "train.length", counted, "st"},
    {"amp", "train.precision", chosen, "true=auto|false=fp32"},
    {"fp16", "train.precision", chosen, "true=fp16|false="},
    {"bf16", "train.precision", chosen, "true=bf16|false="},
    {"mixed_precision", "train.precision", chosen, "true=auto|false=fp32|no=fp32|fp16=fp16|bf16=bf16"},
    {"gradient_checkpointing", "train.activation_checkpointing", chosen, "true=blocks|false=none"},
    {"activation_checkpointing", "train.activation_checkpointing", chosen, "true=blocks|false=none"},
    {"max_grad_norm", "optim.clip_norm"},
    {"accum", "train.accumulation"},
    {"patience", "train.early_stopping"},
    {"early_stopping_patience", "train.early_stopping"},
    {"world_size", "parallel.ranks"},
    {"gpus", "parallel.ranks"},
    {"num_gpus", "parallel.ranks"},
    {"gpu_ids", "parallel.ranks"},
    {"g", "parallel.ranks"},
    {"use_ddp", "parallel.strategy", chosen, "true=ddp|false="},
    {"ddp", "parallel.strategy", chosen, "true=ddp|false="},
    {"distributed", "parallel.strategy", chosen, "true=ddp|false="},
    {"use_deepspeed", "parallel.strategy", chosen, "true=zero2|false="},
    {"zero_stage", "parallel.strategy", chosen, "0=ddp|1=zero1|2=zero2|3=zero3"},
    {"csv", "data.list"},
    {"csv_path", "data.list"},
    {"data_root", "data.folder"},
    {"data_dir", "data.folder"},
    {"data_path", "data.folder"},
    {"dataset_path", "data.folder"},
    {"num_workers", "data.workers"},
    {"workers", "data.workers"},
    {"output", "run.folder"},
    {"out", "run.folder"},
    {"output_dir", "run.folder"},
    {"log_dir", "run.folder"},
    {"save_dir", "run.folder"},
    {"checkpoint_dir", "run.folder"},
    {"doc", "run.name"},
    {"name", "run.name"},
    {"use_smart_cache", "data.cache", chosen, "true=smart|false="},
    {"cache_rate", "data.cache_rate"},
    {"replace_rate", "data.replace_rate"},
    {"resnet", "model.depth", chosen,
     "resnet10=10|resnet18=18|resnet34=34|resnet50=50|resnet101=101|resnet152=152|resnet200=200"},
    {"save_every", "checkpoint.every", counted, "st"},
    {"validate_every", "train.validate_every", counted, "st"},
    {"config", "-c {}", flag},
    {"config_file", "-c {}", flag},
    {"config_path", "-c {}", flag},
    {"c", "-c {}", flag},
    {"e", "-c {}", flag},
    {"environment_file", "-c {}", flag},
    {"deepspeed", "-c {}", flag, "true"},
    {"deepspeed_config", "-c {}", flag},
    {"resume_from", "--resume {}", flag},
    {"no_images", "track.pictures_every", chosen, "true=0|false="},
    {"use_wandb", "track.wandb.enabled", chosen, "true=true|false="},
    {"wandb", "track.wandb.enabled", chosen, "true=true|false="},
    {"data_augmentation", "data.transforms says it", unneeded},
};

const GuideFile launchers{.name = "the launcher's flags", .known_by = {}, .keys = of_launchers};

/// A flag of `accelerate launch` and its key, where it is not the same word.
using FlagKey = std::pair<std::string_view, std::string_view>;
constexpr std::array<FlagKey, 10> other_keys{
    {{"cpu", "use_cpu"},
     {"zero_stage", "deepspeed_config.zero_stage"},
     {"gradient_accumulation_steps", "deepspeed_config.gradient_accumulation_steps"},
     {"gradient_clipping", "deepspeed_config.gradient_clipping"},
     {"offload_optimizer_device", "deepspeed_config.offload_optimizer_device"},
     {"offload_param_device", "deepspeed_config.offload_param_device"},
     {"zero3_init_flag", "deepspeed_config.zero3_init_flag"},
     {"zero3_save_16bit_model", "deepspeed_config.zero3_save_16bit_model"},
     {"deepspeed_config_file", "deepspeed_config.deepspeed_config_file"},
     {"deepspeed_hostfile", "deepspeed_config.deepspeed_hostfile"}}};
/// What kind of start it is, said by a flag alone.
constexpr std::array<FlagKey, 3> kinds{
    {{"multi_gpu", "MULTI_GPU"}, {"use_deepspeed", "DEEPSPEED"}, {"use_fsdp", "FSDP"}}};

/// "say `train.length=`": the key; "" where the answer is another one.
std::string key_said(const std::string& answer) {
  constexpr std::string_view before = "say `", behind = "=`";
  const auto end = answer.find('`', before.size());
  if (!answer.starts_with(before) || end != answer.size() - 1 || !answer.ends_with(behind)) return {};
  const auto key = answer.substr(before.size(), answer.size() - before.size() - behind.size());
  return key.find_first_of(" -=") == std::string::npos && key.find('.') != std::string::npos ? key : "";
}

}  // namespace
}  // namespace script_flags

const GuideFile& launcher_flags() { return script_flags::launchers; }

std::vector<ForeignCommand::Flag> accelerate_keys(const std::vector<ForeignCommand::Flag>& flags) {
  using namespace script_flags;
  std::vector<ForeignCommand::Flag> keys;
  for (const auto& [name, value] : flags) {
    const auto kind = std::ranges::find(kinds, name, &FlagKey::first);
    const auto other = std::ranges::find(other_keys, name, &FlagKey::first);
    if (kind != kinds.end())
      keys.emplace_back("distributed_type", kind->second);
    else if (other != other_keys.end())
      keys.emplace_back(other->second, value);
    else
      keys.emplace_back(name.starts_with("fsdp_") ? "fsdp_config." + name : name, value);
  }
  return keys;
}

ScriptFlags::ScriptFlags(const ForeignFlags& answers, bool batch_is_of_all) {
  using namespace script_flags;
  keys_.push_back({"batch_size", batch_is_of_all ? "train.global_batch" : "train.micro_batch"});
  keys_.insert(keys_.end(), std::begin(of_scripts), std::end(of_scripts));
  for (const auto& [flag, answer] : answers) add(flag, answer);
  for (const auto& [flag, answer] : all_foreign_flags()) add(std::string(flag), answer);
  file_ = {.name = "the script's flags", .known_by = {}, .keys = keys_};
}

bool ScriptFlags::knows(const std::string& flag) const {
  return std::ranges::find(keys_, flag, &GuideKey::theirs) != keys_.end();
}

void ScriptFlags::add(const std::string& flag, const std::string& answer) {
  std::string name = flag;
  std::ranges::replace(name, '-', '_');
  auto key = script_flags::key_said(answer);
  if (key.empty() || knows(name)) return;
  const auto& theirs = texts_.emplace_back(std::move(name));
  const auto& ours = texts_.emplace_back(std::move(key));
  keys_.push_back({theirs, ours.c_str()});
}

}  // namespace larmor

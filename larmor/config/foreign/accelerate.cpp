#include "larmor/config/foreign/accelerate.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "larmor/base/text.h"
#include "larmor/config/foreign/guide_translation.h"
#include "larmor/config/tree.h"

namespace larmor {
namespace accelerate {
namespace {

using enum GuideKey::Way;

constexpr const char* own_launcher =
    "larmor starts its ranks itself, and takes those of accelerate as they are";
constexpr const char* by_block = "zero3 cuts whole blocks";
constexpr const char* compiled =
    "larmor is compiled already; on a GPU train.graphs=auto spares the launches of a step";
constexpr const char* no_tpu = "there are no TPUs here";
constexpr const char* weights_stay = "weights stay on the device; zero3 cuts them";
constexpr const char* hosts = "the same command is started on every host";
constexpr const char* on_disk = "nothing is offloaded to a disk";

constexpr GuideKey keys[] = {
    {"compute_environment", "ranks run on one's own machines", fixed, "LOCAL_MACHINE"},
    {"distributed_type", "parallel.strategy", chosen, "NO=|MULTI_GPU=ddp|MULTI_CPU=ddp|DEEPSPEED=|FSDP="},
    {"mixed_precision", "train.precision", chosen, "no=|fp16=fp16|bf16=bf16"},
    {"fp16", "train.precision", chosen, "true=fp16|false="},
    {"use_cpu", "parallel.device", chosen, "true=cpu|false="},
    {"num_processes", "parallel.ranks"},
    {"num_machines", "--nnodes {}", flag, "1"},
    {"machine_rank", "--node-rank {}", flag, "0"},
    {"main_process_ip", "--master-addr {}", flag},
    {"main_process_port", "--master-port {}", flag},
    {"max_restarts", "--max-restarts {}", flag},
    {"gpu_ids", "--ranks says which GPUs, or CUDA_VISIBLE_DEVICES, which is obeyed", unneeded},
    {"rdzv_backend", own_launcher, unneeded},
    {"same_network", own_launcher, unneeded},
    {"main_training_function", own_launcher, unneeded},
    {"enable_cpu_affinity", "the plan says how many threads a rank has", unneeded},
    {"debug", own_launcher, unneeded},
    {"mpirun_config", own_launcher, unneeded},
    {"downcast_bf16", no_tpu, missing},
    {"tpu_name", no_tpu, missing},
    {"tpu_zone", no_tpu, missing},
    {"tpu_use_cluster", no_tpu, missing},
    {"tpu_use_sudo", no_tpu, unneeded},
    {"tpu_vm", no_tpu, missing},
    {"tpu_env", no_tpu, missing},
    {"command_file", no_tpu, missing},
    {"commands", no_tpu, missing},
    {"dynamo_backend", compiled, unneeded},
    {"dynamo_config", compiled, unneeded},
    {"fp8_config", "nothing is computed in 8 bits", missing},
    {"megatron_lm_config", "layers are not split over ranks", missing},
    {"parallelism_config", "neither layers nor sequences are split over ranks", missing},
    {"deepspeed_config.zero_stage", "parallel.strategy", chosen, "0=ddp|1=zero1|2=zero2|3=zero3"},
    {"deepspeed_config.gradient_accumulation_steps", "train.accumulation"},
    {"deepspeed_config.gradient_clipping", "optim.clip_norm"},
    {"deepspeed_config.offload_optimizer_device", "parallel.offload", chosen, "none=none|cpu=optimizer"},
    {"deepspeed_config.offload_param_device", weights_stay, missing},
    {"deepspeed_config.offload_optimizer_nvme_path", on_disk, unneeded},
    {"deepspeed_config.offload_param_nvme_path", on_disk, unneeded},
    {"deepspeed_config.zero3_init_flag", "weights are drawn alike under every strategy", unneeded},
    {"deepspeed_config.zero3_save_16bit_model", "`larmor export` writes the whole weights", unneeded},
    {"deepspeed_config.deepspeed_config_file", "-c {}", flag},
    {"deepspeed_config.deepspeed_hostfile", hosts, unneeded},
    {"deepspeed_config.deepspeed_inclusion_filter", hosts, unneeded},
    {"deepspeed_config.deepspeed_exclusion_filter", hosts, unneeded},
    {"deepspeed_config.deepspeed_multinode_launcher", own_launcher, unneeded},
    {"deepspeed_config.deepspeed_moe_layer_cls_names", "there are no experts", missing},
    {"fsdp_config.fsdp_version", "each rank keeps a part under zero2 and zero3", unneeded},
    {"fsdp_config.fsdp_sharding_strategy", "parallel.strategy", chosen,
     "1=zero3|2=zero2|3=ddp|FULL_SHARD=zero3|SHARD_GRAD_OP=zero2|NO_SHARD=ddp"},
    {"fsdp_config.fsdp_reshard_after_forward", "parallel.strategy", chosen,
     "true=zero3|false=zero2|FULL_SHARD=zero3|SHARD_GRAD_OP=zero2|NO_SHARD=ddp"},
    {"fsdp_config.fsdp_activation_checkpointing", "train.activation_checkpointing", chosen,
     "true=blocks|false=none"},
    {"fsdp_config.fsdp_offload_params",
     "weights stay on the device; parallel.offload=optimizer keeps the optimizer's states on the host",
     missing},
    {"fsdp_config.fsdp_activation_checkpointing_offload", "what a rank keeps of a block stays on its device",
     missing},
    {"fsdp_config.fsdp_min_num_params", by_block, unneeded},
    {"fsdp_config.fsdp_auto_wrap_policy", by_block, unneeded},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap", by_block, unneeded},
    {"fsdp_config.fsdp_ignored_modules", by_block, missing},
    {"fsdp_config.fsdp_backward_prefetch", "the next block is gathered while this one computes", unneeded},
    {"fsdp_config.fsdp_backward_prefetch_policy", "the next block is gathered while this one computes",
     unneeded},
    {"fsdp_config.fsdp_forward_prefetch", "the next block is gathered while this one computes", unneeded},
    {"fsdp_config.fsdp_state_dict_type", "checkpoints open under any strategy", unneeded},
    {"fsdp_config.fsdp_use_orig_params", "parameters keep their names", unneeded},
    {"fsdp_config.fsdp_cpu_ram_efficient_loading", "weights are drawn alike on every rank", unneeded},
    {"fsdp_config.fsdp_sync_module_states", "weights are drawn alike on every rank", unneeded},
};

const GuideFile file{.name = "accelerate's configuration",
                     .known_by = {"distributed_type", "compute_environment", "deepspeed_config",
                                  "fsdp_config", "num_processes"},
                     .keys = keys};

/// Which of FSDP's two keys counts depends on its version; the other has a default that asks for nothing.
void leave_the_other_fsdp(Node& root) {
  for (Entry& section : root.entries) {
    if (section.key != "fsdp_config" || section.value.kind != Node::Kind::mapping) continue;
    const Entry* const version = find_entry(section.value, "fsdp_version");
    const bool is_second = version != nullptr && version->value.text == "2";
    const char* const other = is_second ? "fsdp_sharding_strategy" : "fsdp_reshard_after_forward";
    const char* const own = is_second ? "fsdp_reshard_after_forward" : "fsdp_sharding_strategy";
    if (find_entry(section.value, own) == nullptr) continue;
    std::erase_if(section.value.entries, [&](const Entry& entry) { return entry.key == other; });
  }
}

/// A variable's key in the YAML.
using VariableKey = std::pair<std::string_view, std::string_view>;
constexpr std::array<VariableKey, 14> variables{
    {{"ACCELERATE_MIXED_PRECISION", "mixed_precision"},
     {"ACCELERATE_USE_CPU", "use_cpu"},
     {"ACCELERATE_DYNAMO_BACKEND", "dynamo_backend"},
     {"ACCELERATE_USE_MEGATRON_LM", "megatron_lm_config"},
     {"ACCELERATE_USE_PARALLELISM_CONFIG", "parallelism_config"},
     {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "deepspeed_config.gradient_accumulation_steps"},
     {"ACCELERATE_GRADIENT_CLIPPING", "deepspeed_config.gradient_clipping"},
     {"ACCELERATE_DEEPSPEED_ZERO_STAGE", "deepspeed_config.zero_stage"},
     {"ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "deepspeed_config.offload_optimizer_device"},
     {"ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "deepspeed_config.offload_param_device"},
     {"ACCELERATE_DEEPSPEED_ZERO3_INIT", "deepspeed_config.zero3_init_flag"},
     {"ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL", "deepspeed_config.zero3_save_16bit_model"},
     {"ACCELERATE_DEEPSPEED_CONFIG_FILE", "deepspeed_config.deepspeed_config_file"},
     {"ACCELERATE_DEEPSPEED_MOE_LAYER_CLS_NAMES", "deepspeed_config.deepspeed_moe_layer_cls_names"}}};

/// Those that accelerate sets whatever it is asked, and those that say only that others count.
constexpr std::array<std::string_view, 9> without_question{
    "ACCELERATE_DYNAMO_MODE",        "ACCELERATE_DYNAMO_USE_FULLGRAPH",
    "ACCELERATE_DYNAMO_USE_DYNAMIC", "ACCELERATE_DYNAMO_USE_REGIONAL_COMPILATION",
    "ACCELERATE_DEBUG_MODE",         "ACCELERATE_CPU_AFFINITY",
    "ACCELERATE_USE_DEEPSPEED",      "ACCELERATE_USE_FSDP",
    "ACCELERATE_CONFIG_DS_FIELDS"};

bool asks_for_nothing(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 5> off{"", "none", "no", "false", "0"};
  if (std::ranges::find(without_question, name) != without_question.end()) return true;
  return name != "ACCELERATE_MIXED_PRECISION" && std::ranges::find(off, lower(value)) != off.end();
}

std::string key_of(std::string_view name, bool is_fsdp) {
  if (is_fsdp && name.starts_with("FSDP_")) return text("fsdp_config.", lower(name));
  const auto found = std::ranges::find(variables, name, &VariableKey::first);
  return found == variables.end() ? "" : std::string(found->second);
}

}  // namespace
}  // namespace accelerate

const GuideFile& accelerate_file() { return accelerate::file; }

Translation translate_accelerate(const Node& root, Problems& problems) {
  Node whole = root;
  accelerate::leave_the_other_fsdp(whole);
  return translate_guide_file(whole, accelerate::file, {}, problems);
}

Translation translate_accelerate_environment(const std::map<std::string, std::string>& environment,
                                             std::deque<Source>& sources, Problems& problems) {
  const auto uses_fsdp = environment.find("ACCELERATE_USE_FSDP");
  const bool is_fsdp = uses_fsdp != environment.end() && lower(uses_fsdp->second) == "true";
  Node root = empty_mapping();
  std::vector<std::string> unknown;
  for (const auto& [name, value] : environment) {
    const auto key = accelerate::key_of(name, is_fsdp);
    const bool is_theirs = name.starts_with("ACCELERATE_") || name.starts_with("DEEPSPEED_");
    if ((key.empty() && !is_theirs) || accelerate::asks_for_nothing(name, value)) continue;
    if (key.empty()) {
      unknown.push_back(text("environment ", name, ": is not known here, and changes nothing"));
      continue;
    }
    Source& source = sources.emplace_back();
    source.name = source.short_name = text("environment ", name);
    auto node = parse_value(value, key, source, problems);
    if (node) put_value(root, split(key, '.'), {&source, 0}, std::move(*node), problems);
  }
  auto translation = translate_accelerate(root, problems);
  for (auto* const notes : {&translation.notes, &translation.without_key})
    notes->insert(notes->end(), unknown.begin(), unknown.end());
  return translation;
}

}  // namespace larmor

#include "larmor/config/foreign/deepspeed_keys.h"

#include <algorithm>
#include <array>

namespace larmor {
namespace {

constexpr const char* buckets = "the plan sizes the buckets";
constexpr const char* overlapped = "gradients always travel while backward runs";
constexpr const char* flat = "gradients always lie in flat buffers";
constexpr const char* by_block = "zero3 gathers whole blocks, the next one while this one computes";
constexpr const char* pinned = "how the states travel between GPU and host is no setting here";
constexpr const char* weights_stay = "weights stay on the device; zero3 cuts them";
constexpr const char* on_disk = "nothing is offloaded to a disk";
constexpr const char* scaling = "the loss scale is found while training, and watched by optim/loss_scale";
constexpr const char* quantized = "what ranks exchange under zero is not quantized";
constexpr const char* recorded = "every step is written to events.jsonl and to TensorBoard anyway";
constexpr const char* exported = "`larmor export` writes the whole weights from any checkpoint";
constexpr const char* any_ranks = "checkpoints open at any number of ranks and under any strategy anyway";
constexpr const char* no_stairs = "the rate moves at each step";
constexpr const char* same_momentum = "optim.betas stay as they are";
constexpr const char* one_adam = "there is one Adam, and it is the vectorised one";

constexpr std::array<UnusedKey, 40> of_zero{
    {{"zero_optimization.allgather_partitions", "weights always come by all-gather"},
     {"zero_optimization.allgather_bucket_size", buckets},
     {"zero_optimization.overlap_comm", overlapped},
     {"zero_optimization.reduce_scatter", "gradients that are cut always go by reduce-scatter"},
     {"zero_optimization.reduce_bucket_size", buckets},
     {"zero_optimization.contiguous_gradients", flat},
     {"zero_optimization.round_robin_gradients", flat},
     {"zero_optimization.use_multi_rank_bucket_allreduce", buckets},
     {"zero_optimization.sub_group_size", "the optimizer moves a unit of weights at a time"},
     {"zero_optimization.stage3_prefetch_bucket_size", by_block},
     {"zero_optimization.prefetch_bucket_size", by_block},
     {"zero_optimization.stage3_param_persistence_threshold", by_block},
     {"zero_optimization.stage3_model_persistence_threshold", by_block},
     {"zero_optimization.stage3_max_live_parameters", by_block},
     {"zero_optimization.stage3_max_reuse_distance", by_block},
     {"zero_optimization.stage3_module_granularity_threshold", by_block},
     {"zero_optimization.stage3_use_all_reduce_for_fetch_params", by_block},
     {"zero_optimization.stage3_gather_16bit_weights_on_model_save", exported},
     {"zero_optimization.stage3_gather_fp16_weights_on_model_save", exported},
     {"zero_optimization.gather_16bit_weights_on_model_save", exported},
     {"zero_optimization.load_from_fp32_weights", "checkpoints keep the fp32 weights"},
     {"zero_optimization.elastic_checkpoint", any_ranks},
     {"zero_optimization.ignore_unused_parameters", "parameters without a gradient are found by all ranks"},
     {"zero_optimization.legacy_stage1", "there is one zero1"},
     {"zero_optimization.offload_param", weights_stay, true},
     {"zero_optimization.cpu_offload_param", weights_stay, true},
     {"zero_optimization.cpu_offload_params", weights_stay, true},
     {"zero_optimization.cpu_offload_use_pin_memory", pinned},
     {"zero_optimization.offload_optimizer.pin_memory", pinned},
     {"zero_optimization.offload_optimizer.nvme_path", on_disk},
     {"zero_optimization.offload_optimizer.buffer_count", on_disk},
     {"zero_optimization.offload_optimizer.buffer_size", on_disk},
     {"zero_optimization.offload_optimizer.pipeline_read", on_disk},
     {"zero_optimization.offload_optimizer.pipeline_write", on_disk},
     {"zero_optimization.offload_optimizer.fast_init", "the states begin where they stay"},
     {"zero_optimization.offload_optimizer.ratio", "all of the states are offloaded, or none", true},
     {"zero_optimization.zero_hpz_partition_size", "weights are cut over all ranks alike", true},
     {"zero_optimization.zero_quantized_weights", quantized, true},
     {"zero_optimization.zero_quantized_nontrainable_weights", quantized, true},
     {"zero_optimization.zero_quantized_gradients", quantized, true}}};

constexpr std::array<UnusedKey, 30> of_other_sections{
    {{"fp16.auto_cast", "which operations compute in half precision is a fixed list"},
     {"fp16.loss_scale", scaling},
     {"fp16.initial_scale_power", scaling},
     {"fp16.loss_scale_window", scaling},
     {"fp16.hysteresis", scaling},
     {"fp16.consecutive_hysteresis", scaling},
     {"fp16.min_loss_scale", scaling},
     {"fp16.fp16_master_weights_and_grads", "master weights are fp32", true},
     {"bf16.immediate_grad_update", flat},
     {"bf16.check_grad_overflow", "gradients that are not finite are always found, and their step skipped"},
     {"activation_checkpointing.partition_activations", "what a rank keeps of a block stays on it whole",
      true},
     {"activation_checkpointing.cpu_checkpointing", "what a rank keeps of a block stays on its device", true},
     {"activation_checkpointing.contiguous_memory_optimization", "it goes with partitioned activations"},
     {"activation_checkpointing.synchronize_checkpoint_boundary", "it is for DeepSpeed's own timers"},
     {"activation_checkpointing.profile", "it is for DeepSpeed's own timers"},
     {"optimizer.legacy_fusion", one_adam},
     {"optimizer.params.torch_adam", one_adam},
     {"optimizer.params.fused", one_adam},
     {"optimizer.params.foreach", one_adam},
     {"optimizer.params.bias_correction", "the means of gradient and square are always corrected"},
     {"optimizer.params.amsgrad", "no optimizer here keeps the largest square", true},
     {"optimizer.params.nesterov", "the momentum of sgd is the plain one", true},
     {"optimizer.params.dampening", "the momentum of sgd is the plain one", true},
     {"scheduler.params.last_batch_iteration", "a run that goes on knows its step"},
     {"scheduler.params.warmup_type", "the rise is linear here", true},
     {"scheduler.params.cycle_first_stair_count", no_stairs, true},
     {"scheduler.params.cycle_second_stair_count", no_stairs, true},
     {"scheduler.params.cycle_min_mom", same_momentum, true},
     {"scheduler.params.cycle_max_mom", same_momentum, true},
     {"scheduler.params.decay_mom_rate", same_momentum, true}}};

constexpr std::array<UnusedKey, 47> at_the_top{
    {{"steps_per_print", recorded},
     {"wall_clock_breakdown", recorded},
     {"memory_breakdown", recorded},
     {"dump_state", "`larmor config show` and `larmor plan` show everything"},
     {"timers", recorded},
     {"flops_profiler", "`larmor bench step` times a step"},
     {"tensorboard", "events go to tb/ in the run folder, track.tensorboard=false leaves them out"},
     {"csv_monitor", recorded},
     {"monitor_config", recorded},
     {"wandb", "say track.wandb.enabled=true, and track.wandb.project=", true},
     {"comet", "it is none of the trackers that are spoken to here (docs/trackers.md)", true},
     {"comms_logger", recorded},
     {"communication_data_type", "parallel.compression says it, for ddp"},
     {"seq_parallel_communication_data_type", "sequences are not split over ranks"},
     {"fp32_allreduce", "gradients travel as wide as they are; parallel.compression changes it, for ddp"},
     {"prescale_gradients", "gradients are averaged once"},
     {"gradient_predivide_factor", "gradients are averaged once"},
     {"sparse_gradients", "all gradients here are dense"},
     {"disable_allgather", "weights always come by all-gather"},
     {"zero_allow_untested_optimizer", "every optimizer here is tested under every strategy"},
     {"zero_force_ds_cpu_optimizer", one_adam},
     {"amp", "mixed precision is train.precision", true},
     {"data_types", "gradients add up as wide as they are"},
     {"aio", on_disk},
     {"nvme", on_disk},
     {"autotuning", "`larmor plan` chooses, and says why"},
     {"elasticity", any_ranks},
     {"checkpoint", "the keys of checkpoint are ours: `larmor config explain` shows them"},
     {"nebula", "checkpoints are written while training goes on anyway"},
     {"load_universal_checkpoint", any_ranks},
     {"use_node_local_storage", "a run folder is one folder"},
     {"dataloader_drop_last", "no example is dropped"},
     {"compile", "the program is compiled already"},
     {"graph_harvesting", "steps are not captured as graphs"},
     {"pipeline", "layers are not split over ranks", true},
     {"tensor_parallel", "layers are not split over ranks", true},
     {"sequence_parallel_size", "sequences are not split over ranks", true},
     {"use_data_before_expert_parallelism", "there are no experts"},
     {"hybrid_engine", "there is no generation between steps"},
     {"sparse_attention", "the network is the workload's"},
     {"compression_training", "weights are not pruned or quantized", true},
     {"quantize_training", "weights are not pruned or quantized", true},
     {"progressive_layer_drop", "the network is the workload's"},
     {"eigenvalue", "the network is the workload's"},
     {"curriculum_learning", "examples come in one keyed permutation an epoch", true},
     {"data_efficiency", "examples come in one keyed permutation an epoch", true},
     {"vocabulary_size", "the network is the workload's"}}};

constexpr std::array<std::string_view, 11> sections{"train_batch_size",
                                                    "train_micro_batch_size_per_gpu",
                                                    "gradient_accumulation_steps",
                                                    "gradient_clipping",
                                                    "zero_optimization",
                                                    "fp16",
                                                    "bf16",
                                                    "bfloat16",
                                                    "activation_checkpointing",
                                                    "optimizer",
                                                    "scheduler"};

constexpr std::array<std::string_view, 30> with_meaning{"zero_optimization.stage",
                                                        "zero_optimization.offload_optimizer",
                                                        "zero_optimization.offload_optimizer.device",
                                                        "zero_optimization.cpu_offload",
                                                        "fp16.enabled",
                                                        "bf16.enabled",
                                                        "activation_checkpointing.number_checkpoints",
                                                        "optimizer.type",
                                                        "optimizer.params",
                                                        "optimizer.params.lr",
                                                        "optimizer.params.betas",
                                                        "optimizer.params.eps",
                                                        "optimizer.params.weight_decay",
                                                        "optimizer.params.momentum",
                                                        "optimizer.params.adam_w_mode",
                                                        "scheduler.type",
                                                        "scheduler.params",
                                                        "scheduler.params.warmup_min_lr",
                                                        "scheduler.params.warmup_max_lr",
                                                        "scheduler.params.warmup_num_steps",
                                                        "scheduler.params.warmup_min_ratio",
                                                        "scheduler.params.cos_min_ratio",
                                                        "scheduler.params.total_num_steps",
                                                        "scheduler.params.cycle_min_lr",
                                                        "scheduler.params.cycle_max_lr",
                                                        "scheduler.params.cycle_first_step_size",
                                                        "scheduler.params.cycle_second_step_size",
                                                        "scheduler.params.cycle_momentum",
                                                        "scheduler.params.decay_lr_rate",
                                                        "scheduler.params.decay_step_size"};

template <size_t Count>
const UnusedKey* find_in(const std::array<UnusedKey, Count>& keys, std::string_view key) {
  const auto found =
      std::find_if(keys.begin(), keys.end(), [key](const UnusedKey& one) { return one.key == key; });
  return found == keys.end() ? nullptr : &*found;
}

}  // namespace

const UnusedKey* find_unused_key(std::string_view key) {
  if (const UnusedKey* found = find_in(of_zero, key)) return found;
  if (const UnusedKey* found = find_in(of_other_sections, key)) return found;
  return find_in(at_the_top, key);
}

std::vector<std::string> deepspeed_keys() {
  std::vector<std::string> keys(sections.begin(), sections.end());
  keys.insert(keys.end(), with_meaning.begin(), with_meaning.end());
  for (const UnusedKey& one : of_zero) keys.emplace_back(one.key);
  for (const UnusedKey& one : of_other_sections) keys.emplace_back(one.key);
  for (const UnusedKey& one : at_the_top) keys.emplace_back(one.key);
  return keys;
}

std::span<const std::string_view> deepspeed_sections() { return sections; }

}  // namespace larmor

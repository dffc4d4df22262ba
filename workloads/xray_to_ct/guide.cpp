#include "workloads/xray_to_ct/guide.h"

namespace larmor::xray_to_ct {
namespace guide {
namespace {

using enum GuideKey::Way;

constexpr const char* by_plan = "the plan chooses it for this machine";

constexpr GuideKey keys[] = {
    {"model_name", "a run is named by run.name", unneeded},
    {"description", "it is for readers", unneeded},
    {"xray_config.img_size", "data.radiograph_size"},
    {"xray_config.num_views", "model.views", chosen, "1=[pa]|2=[pa, lateral]"},
    {"xray_config.view_types", "model.views", chosen,
     "[frontal]=[pa]|[pa]=[pa]|[frontal, lateral]=[pa, lateral]|[pa, lateral]=[pa, lateral]"},
    {"xray_config.share_view_weights", "views share their weights, and each is told its angle", unneeded},
    {"stage_configs[].volume_size", "model.volume_size", edge},
    {"stage_configs[].voxel_dim", "model.voxel_dim"},
    {"stage_configs[].vit_depth", "model.vit_depth"},
    {"stage_configs[].num_heads", "model.num_heads"},
    {"stage_configs[].use_depth_lifting", "radiographs are always lifted", fixed, "true"},
    {"stage_configs[].use_physics_loss", "loss.physics_weight", chosen, "true=|false=0.0"},
    {"stage_configs[].physics_weight", "loss.physics_weight", as_it_is, "", "use_physics_loss"},
    {"training.num_timesteps", "model.noise.num_train_timesteps"},
    {"training.v_parameterization", "model.prediction_type", chosen, "true=v_prediction|false=epsilon"},
    {"training.batch_size", "train.micro_batch"},
    {"training.gradient_accumulation_steps", "train.accumulation"},
    {"training.accumulation_steps", "train.accumulation"},
    {"training.gradient_checkpointing", "train.activation_checkpointing", chosen, "true=blocks|false=none"},
    {"training.mixed_precision", "train.precision", chosen,
     "fp16=fp16|bf16=bf16|no=fp32|true=auto|false=fp32"},
    {"training.learning_rate", "optim.learning_rate"},
    {"training.weight_decay", "optim.weight_decay"},
    {"training.gradient_clip", "optim.clip_norm"},
    {"training.ema_decay", "optim.ema_decay"},
    {"training.num_epochs_per_stage", "train.length", counted, "ep"},
    {"training.num_epochs", "train.length", counted, "ep"},
    {"training.num_workers", by_plan, unneeded},
    {"data.dataset_path", "data.folder"},
    {"data.train_split", "data.split.train"},
    {"data.val_split", "data.split.val"},
    {"data.test_split", "data.split.test"},
    {"data.normalize_range", "volumes are [-1, 1] over data.hu_range", fixed, "[-1, 1]|[-1.0, 1.0]"},
    {"data.target_xray_size", "data.radiograph_size"},
    {"data.validate_alignment", "data.align_at_least is always looked at", unneeded},
    {"data.augmentation", "data.augmentation"},
    {"data.cache_in_memory", "data.cache", chosen, "true=full|false=none"},
    {"data.flip_drrs_vertical", "data.flip_vertical"},
    {"data.num_workers", by_plan, unneeded},
    {"data.pin_memory", by_plan, unneeded},
    {"wandb", "track.wandb.enabled=true sends a run to it", unneeded},
};

}  // namespace
}  // namespace guide

ForeignFlags guide_flags() {
  return {
      {"checkpoint_dir", "say `run.folder=`"},
      {"checkpoint-dir", "say `run.folder=`"},
      {"resume_from", "`larmor train RUN` goes on with a run; the next stage takes `from.stage2=RUN#best`"},
      {"method", "leave it out: agents start the ranks, behind torchrun and Accelerate as well"},
      {"num_samples", "say `--table CASES.csv` with a case a row"},
      {"num_steps", "say `model.sampling.num_inference_steps=`"},
      {"data_dir", "say `data.folder=`"}};
}

GuideFiles guide_files() {
  return {{.name = "the file of the X-ray to CT guide",
           .known_by = {"xray_config", "stage_configs", "training"},
           .keys = guide::keys}};
}

}  // namespace larmor::xray_to_ct

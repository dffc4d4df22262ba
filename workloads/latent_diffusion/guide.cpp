#include "workloads/latent_diffusion/guide.h"

namespace larmor::latent_diffusion {
namespace guide {
namespace {

using enum GuideKey::Way;

constexpr const char* by_plan = "the plan chooses it for this machine";
constexpr const char* by_list =
    "say data.kind=list data.list=cases.csv, whose column `split` says train or val";

constexpr GuideKey training_keys[] = {
    {"channel", "an image has one channel, and data.modalities chooses among files", unneeded},
    {"spacing", "say {Spacing: {pixdim: […]}} in data.transforms, for files that know their voxels", missing},
    {"spatial_dims", "volumes have three dimensions", fixed, "3"},
    {"image_channels", "autoencoder_def refers to it", unneeded},
    {"latent_channels", "autoencoder:model.latent_channels"},
    {"autoencoder_def._target_", "the network is AutoencoderKL", fixed,
     "monai.networks.nets.AutoencoderKL|generative.networks.nets.AutoencoderKL"},
    {"autoencoder_def.spatial_dims", "autoencoder:model.spatial_dims"},
    {"autoencoder_def.in_channels", "autoencoder:model.in_channels"},
    {"autoencoder_def.out_channels", "autoencoder:model.out_channels"},
    {"autoencoder_def.latent_channels", "autoencoder:model.latent_channels"},
    {"autoencoder_def.channels", "autoencoder:model.channels"},
    {"autoencoder_def.num_channels", "autoencoder:model.channels"},
    {"autoencoder_def.num_res_blocks", "autoencoder:model.num_res_blocks", listed},
    {"autoencoder_def.norm_num_groups", "autoencoder:model.norm_num_groups"},
    {"autoencoder_def.norm_eps", "autoencoder:model.norm_eps"},
    {"autoencoder_def.attention_levels", "autoencoder:model.attention_levels"},
    {"autoencoder_def.with_encoder_nonlocal_attn", "autoencoder:model.with_encoder_nonlocal_attn"},
    {"autoencoder_def.with_decoder_nonlocal_attn", "autoencoder:model.with_decoder_nonlocal_attn"},
    {"autoencoder_def.use_checkpointing", by_plan, unneeded},
    {"autoencoder_def.use_flash_attention", by_plan, unneeded},
    {"autoencoder_def.use_convtranspose", "levels are enlarged by nearest voxels and convolved", fixed,
     "false"},
    {"autoencoder_train.batch_size", "autoencoder:train.micro_batch"},
    {"autoencoder_train.patch_size", "autoencoder:data.transforms", placed,
     "[{Orientation: {axcodes: RAS}}, {RandSpatialCrop: {roi_size: {}}}, "
     "{ScaleIntensityRangePercentiles: {lower: 0, upper: 99.5, b_min: 0, b_max: 1, clip: true}}]"},
    {"autoencoder_train.lr", "autoencoder:optim.learning_rate"},
    {"autoencoder_train.lr_scheduler", "autoencoder:optim.schedule.name"},
    {"autoencoder_train.warmup_epochs", "autoencoder:optim.schedule.warmup", counted, "ep"},
    {"autoencoder_train.weight_decay", "autoencoder:optim.weight_decay"},
    {"autoencoder_train.gradient_accumulation_steps", "autoencoder:train.accumulation"},
    {"autoencoder_train.perceptual_weight", "autoencoder:loss.perceptual_weight"},
    {"autoencoder_train.kl_weight", "autoencoder:loss.kl_weight"},
    {"autoencoder_train.adv_weight", "autoencoder:loss.adversarial_weight"},
    {"autoencoder_train.recon_loss", "autoencoder:loss.recon_loss"},
    {"autoencoder_train.n_epochs", "autoencoder:train.length", counted, "ep"},
    {"autoencoder_train.max_epochs", "autoencoder:train.length", counted, "ep"},
    {"autoencoder_train.val_interval", "autoencoder:train.validate_every", counted, "ep"},
    {"autoencoder_train.amp", "autoencoder:train.precision", chosen, "true=auto|false=fp32"},
    {"diffusion_def._target_", "the network is DiffusionModelUNet", fixed,
     "monai.networks.nets.DiffusionModelUNet|generative.networks.nets.DiffusionModelUNet"},
    {"diffusion_def.spatial_dims", "diffusion:model.spatial_dims"},
    {"diffusion_def.in_channels", "diffusion:model.in_channels"},
    {"diffusion_def.out_channels", "diffusion:model.out_channels"},
    {"diffusion_def.channels", "diffusion:model.channels"},
    {"diffusion_def.num_channels", "diffusion:model.channels"},
    {"diffusion_def.num_res_blocks", "diffusion:model.num_res_blocks", listed},
    {"diffusion_def.attention_levels", "diffusion:model.attention_levels"},
    {"diffusion_def.num_head_channels", "diffusion:model.num_head_channels"},
    {"diffusion_def.norm_num_groups", "diffusion:model.norm_num_groups"},
    {"diffusion_def.norm_eps", "diffusion:model.norm_eps"},
    {"diffusion_def.resblock_updown", "diffusion:model.resblock_updown"},
    {"diffusion_def.with_conditioning", "diffusion:model.with_conditioning"},
    {"diffusion_def.cross_attention_dim", "diffusion:model.cross_attention_dim"},
    {"diffusion_def.transformer_num_layers", "diffusion:model.transformer_num_layers"},
    {"diffusion_def.use_flash_attention", by_plan, unneeded},
    {"diffusion_train.batch_size", "diffusion:train.micro_batch"},
    {"diffusion_train.patch_size", "diffusion:data.transforms", placed,
     "[{Orientation: {axcodes: RAS}}, {CenterSpatialCrop: {roi_size: {}}}, "
     "{ScaleIntensityRangePercentiles: {lower: 0, upper: 99.5, b_min: 0, b_max: 1, clip: true}}]"},
    {"diffusion_train.lr", "diffusion:optim.learning_rate"},
    {"diffusion_train.lr_scheduler_milestones", "diffusion:optim.schedule.milestones", counted, "ep"},
    {"diffusion_train.lr_scheduler_milestones", "diffusion:optim.schedule.name", placed, "multistep"},
    {"diffusion_train.n_epochs", "diffusion:train.length", counted, "ep"},
    {"diffusion_train.max_epochs", "diffusion:train.length", counted, "ep"},
    {"diffusion_train.val_interval", "diffusion:train.validate_every", counted, "ep"},
    {"diffusion_train.amp", "diffusion:train.precision", chosen, "true=auto|false=fp32"},
    {"NoiseScheduler._target_", "model.sampling.sampler says how samples are drawn", unneeded},
    {"NoiseScheduler.num_train_timesteps", "diffusion:model.noise.num_train_timesteps"},
    {"NoiseScheduler.beta_start", "diffusion:model.noise.beta_start"},
    {"NoiseScheduler.beta_end", "diffusion:model.noise.beta_end"},
    {"NoiseScheduler.schedule", "diffusion:model.noise.schedule", chosen,
     "linear_beta=linear|scaled_linear_beta=scaled_linear|sigmoid_beta=sigmoid|cosine=cosine"},
    {"NoiseScheduler.prediction_type", "diffusion:model.prediction_type"},
    {"NoiseScheduler.clip_sample", "diffusion:model.sampling.clip_sample"},
};

constexpr GuideKey environment_keys[] = {
    {"npz_dir", "data.folder"},
    {"npz_dir", "data.kind", placed, "npz"},
    {"npz_dir_train", by_list, missing},
    {"npz_dir_val", by_list, missing},
    {"data_base_dir", "data.folder"},
    {"val_fraction", "data.split.val"},
    {"seed", "run.seed"},
    {"output_dir", "run.folder"},
    {"model_dir", "checkpoints lie in the run's folder", unneeded},
    {"tfevent_path", "tb/ lies in the run's folder", unneeded},
    {"resume_ckpt", "`larmor train RUN` goes on with a run", unneeded},
};

}  // namespace
}  // namespace guide

GuideFiles guide_files() {
  return {{.name = "the file of the autoencoder guide",
           .known_by = {"autoencoder_def", "autoencoder_train", "diffusion_def", "diffusion_train"},
           .keys = guide::training_keys},
          {.name = "environment.json of the autoencoder guide",
           .known_by = {"npz_dir", "npz_dir_train", "data_base_dir", "model_dir", "tfevent_path"},
           .keys = guide::environment_keys}};
}

}  // namespace larmor::latent_diffusion

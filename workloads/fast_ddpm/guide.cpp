#include "workloads/fast_ddpm/guide.h"

namespace larmor::fast_ddpm {
namespace guide {
namespace {

using enum GuideKey::Way;

constexpr const char* by_plan = "the plan chooses it for this machine";

constexpr GuideKey keys[] = {
    {"data.dataset", "data.kind and data.modalities say what is read", unneeded},
    {"data.data_root", "data.folder"},
    {"data.crop_size", "data.transforms", placed,
     "[{Orientation: {axcodes: RAS}}, {ScaleIntensityRangePercentiles: {lower: 1, upper: 99, b_min: "
     "-1, "
     "b_max: 1, clip: true, channel_wise: true, nonzero: true}}, {RandSpatialCrop: {roi_size: {}}}]"},
    {"data.volume_size", "data.transforms", placed,
     "[{Orientation: {axcodes: RAS}}, {Resize: {spatial_size: {}, mode: trilinear}}, "
     "{ScaleIntensityRangePercentiles: {lower: 1, upper: 99, b_min: -1, b_max: 1, clip: true, "
     "channel_wise: true, nonzero: true}}]"},
    {"data.crops_per_volume", "an epoch takes one crop of each volume, and train.length says how many",
     missing},
    {"data.channels", "each modality is one channel", fixed, "1"},
    {"data.normalization", "data.transforms scales intensities to [-1, 1] by their percentiles", unneeded},
    {"data.num_workers", by_plan, unneeded},
    {"data.pin_memory", by_plan, unneeded},
    {"model.type", "one network generates any of the modalities from the others", unneeded},
    {"model.in_channels", "model.in_channels"},
    {"model.out_ch", "model.out_ch"},
    {"model.ch", "model.ch"},
    {"model.ch_mult", "model.ch_mult"},
    {"model.num_res_blocks", "model.num_res_blocks"},
    {"model.attn_resolutions", "the network in three dimensions has no attention", missing},
    {"model.dropout", "model.dropout"},
    {"model.var_type", "no variance is learned, and none is needed where eta is 0", unneeded},
    {"model.ema", "optim.ema_decay", chosen, "true=|false=0.0"},
    {"model.ema_rate", "optim.ema_decay", as_it_is, "", "ema"},
    {"model.resamp_with_conv", "the network convolves wherever it changes the resolution", fixed, "true"},
    {"model.use_sigmoid", "what the network says is cut to the range of the images instead", missing},
    {"diffusion.beta_schedule", "model.noise.schedule"},
    {"diffusion.beta_start", "model.noise.beta_start"},
    {"diffusion.beta_end", "model.noise.beta_end"},
    {"diffusion.num_diffusion_timesteps", "model.noise.num_train_timesteps"},
    {"training.batch_size", "train.micro_batch"},
    {"training.gradient_accumulation_steps", "train.accumulation"},
    {"training.epochs", "train.length", counted, "ep"},
    {"training.n_epochs", "train.length", counted, "ep"},
    {"training.num_epochs", "train.length", counted, "ep"},
    {"training.n_iters", "epochs say how long; train.length=5000st counts steps instead", unneeded},
    {"training.learning_rate", "optim.learning_rate"},
    {"training.weight_decay", "optim.weight_decay"},
    {"training.gradient_clip", "optim.clip_norm"},
    {"training.loss_type", "the loss is the mean square", fixed, "mse|simple|sg"},
    {"training.save_every", "checkpoint.every", counted, "st"},
    {"training.snapshot_freq", "checkpoint.every", counted, "st"},
    {"training.validate_every", "train.validate_every", counted, "st"},
    {"training.validation_freq", "train.validate_every", counted, "st"},
    {"training.sample_every", "track.pictures_every", counted, "st"},
    {"training.log_every_n_steps", "every step is tracked", unneeded},
    {"training.multi_gpu", "--ranks says on how many; all devices unless said otherwise", unneeded},
    {"training.distributed", "the plan chooses; parallel.strategy=ddp or dp says it", unneeded},
    {"training.sync_batchnorm", "group norms know one example each, on any number of ranks", unneeded},
    {"training.mixed_precision", "train.precision", chosen, "true=auto|false=fp32"},
    {"training.gradient_checkpointing", "train.activation_checkpointing", chosen, "true=blocks|false=none"},
    {"training.seed", "run.seed"},
    {"optim.optimizer", "optim.name", chosen, "adam=adam|adamw=adamw|sgd=sgd"},
    {"optim.lr", "optim.learning_rate"},
    {"optim.beta1", "optim.betas", placed, "[{}, 0.999]"},
    {"optim.weight_decay", "optim.weight_decay"},
    {"optim.amsgrad", "the maximum of squares is not kept", fixed, "false"},
    {"optim.eps", "optim.eps"},
    {"optim.grad_clip", "optim.clip_norm"},
    {"sampling.timesteps", "model.sampling.timesteps"},
    {"sampling.scheduler_type", "model.sampling.scheduler_type", chosen,
     "uniform=uniform_from_zero|non-uniform=non_uniform|non_uniform=non_uniform"},
    {"sampling.eta", "model.sampling.eta"},
    {"sampling.batch_size", "cases are sampled one by one", unneeded},
    {"sampling.last_only", "the last image alone is kept", unneeded},
    {"sampling.init_type", "sampling begins at Gaussian noise", fixed, "gaussian"},
    {"sampling.noise_std", "sampling begins at noise of deviation 1", missing},
    {"sampling.noise_mean", "sampling begins at noise around 0", missing},
    {"device", "--device says on what", unneeded},
    {"mixed_precision", "train.precision", chosen, "true=auto|false=fp32"},
};

}  // namespace
}  // namespace guide

ForeignFlags guide_flags() {
  return {{"timesteps", "say `model.sampling.timesteps=`"},
          {"scheduler-type",
           "say `model.sampling.scheduler_type=uniform` (the paper's list), `uniform_from_zero` (the 3-D "
           "fork's) or "
           "`non_uniform`"},
          {"scheduler",
           "say `model.sampling.scheduler_type=uniform` (the paper's list), `uniform_from_zero` (the 3-D "
           "fork's) or "
           "`non_uniform`"},
          {"sample-type", "say `model.sampling.sampler=generalized` or `ddpm_noisy`"},
          {"eta", "say `model.sampling.eta=`"},
          {"exp", "say `run.folder=`"},
          {"gpu", "say `--ranks 0,` with the number of the device, or `--device cpu`"},
          {"resume-path", "say `--resume CHECKPOINT`, or `larmor train RUN`"},
          {"resume-training", "say `larmor train RUN`"},
          {"debug", "say `--try`, every phase once in a minute; or `-c debug`, two hundred steps"},
          {"log-every-n-steps", "leave it out: every step stands in events.jsonl"},
          {"sample-every", "say `track.pictures_every=2000st`"},
          {"dist-url", "leave it out: agents find one another, or say --master-addr HOST"},
          {"dist-backend", "say `--device cpu` or `--device cuda`: the backend follows"},
          {"port", "say `--master-port`"},
          {"sync-batchnorm",
           "leave it out: this network has no batch norm, its group norms know one example each"},
          {"checkpoint", "`larmor predict RUN`, or RUN#best, takes it"},
          {"input-dir", "`larmor predict RUN --table CASES.csv`, with a column for each modality"},
          {"target-modality", "`larmor predict RUN --input target=t1c`"},
          {"dataset", "say `data.folder=`"},
          {"sample", "`larmor predict RUN` samples"},
          {"image-folder", "`larmor predict RUN --output FOLDER`"},
          {"fid", "`larmor evaluate RUN` gives PSNR, SSIM and errors inside the brain"},
          {"ni", "leave it out: nothing is asked"}};
}

GuideFiles guide_files() {
  return {{.name = "the file of the Fast-DDPM guide",
           .known_by = {"training", "diffusion", "sampling"},
           .keys = guide::keys}};
}

}  // namespace larmor::fast_ddpm

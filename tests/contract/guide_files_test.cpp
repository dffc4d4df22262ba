// The files of the guides, as their users bring them: every key is said in ours, means nothing here for a
// reason, or is a fault.
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/config/imported_config.h"
#include "larmor/config/load.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ValueMap = std::map<std::string, std::string>;

// Keys and values as the files of the guides' repositories have them.
constexpr const char* fast_ddpm_file = R"(
data: {dataset: BraTS3D, crop_size: [64, 64, 64], crops_per_volume: 4, channels: 1, num_workers: 4,
       normalization: min_max_0_1}
model: {type: unified_4to1, in_channels: 4, out_ch: 1, ch: 32, ch_mult: [1, 2], num_res_blocks: 1,
        attn_resolutions: [16], dropout: 0.2, var_type: fixedsmall, ema_rate: 0.99, ema: True,
        resamp_with_conv: True, use_sigmoid: True}
diffusion: {beta_schedule: linear, beta_start: 0.0001, beta_end: 0.01, num_diffusion_timesteps: 500}
training: {batch_size: 2, gradient_accumulation_steps: 2, multi_gpu: true, distributed: false,
           sync_batchnorm: true, epochs: 30, learning_rate: 0.0002, weight_decay: 0.0, gradient_clip: 2.0,
           loss_type: mse, save_every: 2000, validate_every: 100, log_every_n_steps: 50}
optim: {optimizer: Adam, lr: 0.0002, beta1: 0.8, weight_decay: 0.0, amsgrad: false, eps: 0.0000001}
sampling: {timesteps: 8, scheduler_type: non-uniform, eta: 0.5, batch_size: 2, init_type: gaussian, noise_std: 0.5,
           noise_mean: 0.5}
device: cuda
mixed_precision: False
)";

constexpr const char* cascade_file = R"({
  "model_name": "cascade", "description": "two views",
  "xray_config": {"img_size": 256, "num_views": 1, "share_view_weights": false, "view_types": ["frontal"]},
  "stage_configs": [
    {"name": "stage1", "volume_size": [32, 32, 32], "voxel_dim": 192, "vit_depth": 3, "num_heads": 3,
     "use_depth_lifting": true, "use_physics_loss": true, "physics_weight": 0.2},
    {"name": "stage2", "volume_size": [64, 64, 64], "voxel_dim": 128, // smaller
     "vit_depth": 2, "num_heads": 2, "use_depth_lifting": true, "use_physics_loss": false, "physics_weight": 0.4}],
  "training": {"num_timesteps": 400, "v_parameterization": true, "batch_size": 4, "learning_rate": 2e-4,
               "num_epochs_per_stage": 70, "gradient_clip": 2.0, "ema_decay": 0.99, "weight_decay": 0.02,
               "gradient_checkpointing": true, "mixed_precision": "no", "accumulation_steps": 2},
  "data": {"dataset_path": "pairs", "train_split": 0.7, "val_split": 0.2, "test_split": 0.1,
           "normalize_range": [-1, 1], "target_xray_size": 256, "validate_alignment": true, "augmentation": false,
           "cache_in_memory": true, "num_workers": 4, "flip_drrs_vertical": true, "_comment": "as they lie"}})";

constexpr const char* autoencoder_file = R"({
  "channel": 1, "spacing": [5, 3.2, 3.2], "spatial_dims": 3, "image_channels": 1, "latent_channels": 6,
  "autoencoder_def": {"_target_": "monai.networks.nets.AutoencoderKL", "spatial_dims": "@spatial_dims",
    "in_channels": "$@image_channels", "out_channels": "@image_channels", "latent_channels": "@latent_channels",
    "channels": [32, 64, 64], "num_res_blocks": 1, "norm_num_groups": 16, "norm_eps": 1e-05,
    "attention_levels": [false, true, true], "with_encoder_nonlocal_attn": true, "with_decoder_nonlocal_attn": true},
  "autoencoder_train": {"batch_size": 2, "patch_size": [64, 64, 48], "lr": 1e-3, "lr_scheduler": "constant",
    "perceptual_weight": 0.5, "kl_weight": 1e-6, "recon_loss": "l2", "max_epochs": 50, "val_interval": 10},
  "diffusion_def": {"_target_": "monai.networks.nets.DiffusionModelUNet", "spatial_dims": "@spatial_dims",
    "in_channels": "@latent_channels", "out_channels": "@latent_channels", "channels": [64, 64, 128],
    "attention_levels": [false, false, true], "num_head_channels": [0, 0, 32], "num_res_blocks": 1},
  "diffusion_train": {"batch_size": 3, "patch_size": [64, 96, 64], "lr": 2e-5, "n_epochs": 60, "val_interval": 5,
    "lr_scheduler_milestones": [10, 20]},
  "NoiseScheduler": {"_target_": "monai.networks.schedulers.DDPMScheduler", "num_train_timesteps": 500,
    "beta_start": 0.001, "beta_end": 0.02, "schedule": "linear_beta", "clip_sample": true}})";

constexpr const char* environment_file =
    R"({"npz_dir": "npz", "val_fraction": 0.05, "seed": 3, "model_dir": "models",
  "tfevent_path": "events", "output_dir": "all_runs", "resume_ckpt": true})";

constexpr const char* vqa_file = R"(
model: {visual_backbone: convnext_tiny, text_encoder: clinical, visual_feature_dim: 256, scene_graph_dim: 134,
        visual_embedding_dim: 646, hidden_size: 384, intermediate_size: 3072, num_hidden_layers: 6,
        num_attention_heads: 6, hidden_dropout_prob: 0.2, attention_probs_dropout_prob: 0.1, sim_layers: 3,
        num_regions: 310, num_entities: 237, region_embedding_dim: 32, entity_embedding_dim: 32, num_binary_classes: 2,
        num_category_classes: 14, num_region_classes: 26, num_severity_classes: 4, max_question_length: 64,
        vocab_size: 30522}
data: {mimic_cxr_jpg_path: jpg, mimic_ext_cxr_qba_path: qba, chexpert_labels_path: "", quality_grade: A,
       view_filter: all, question_types: null, image_size: 256, normalize_mean: [0.485, 0.456, 0.406],
       normalize_std: [0.229, 0.224, 0.225]}
training: {output_dir: all_runs, batch_size_per_gpu: 16, gradient_accumulation_steps: 4, learning_rate: 5.0e-5,
           weight_decay: 0.02, warmup_ratio: 0.2, max_grad_norm: 2.0, num_epochs: 30, fp16: true,
           gradient_checkpointing: false, vqa_loss_weight: 2.0, chexpert_loss_weight: 0.4, binary_head_weight: 0.9,
           category_head_weight: 0.5, region_head_weight: 0.6, severity_head_weight: 0.7, logging_steps: 100,
           save_steps: 5000, save_total_limit: 5, eval_steps: 2500, metric_for_best_model: accuracy,
           greater_is_better: true, early_stopping_patience: 6, dataloader_num_workers: 0,
           dataloader_pin_memory: true, dataloader_prefetch_factor: 2, hub_model_id: "", hub_private_repo: true,
           push_to_hub_strategy: best, seed: 7}
wandb: off
deepspeed: {enabled: true, config_path: deepspeed.json, stage: 2}
)";

struct Brought {
  StageName stage;
  std::vector<const char*> files;
  ValueMap says;
};

const Brought fast_ddpm{{"fast_ddpm", "denoiser"},
                        {fast_ddpm_file},
                        {{"model.ch", "32"},
                         {"model.ch_mult", "[1, 2]"},
                         {"model.num_res_blocks", "1"},
                         {"model.dropout", "0.2"},
                         {"model.noise.beta_end", "0.01"},
                         {"model.noise.num_train_timesteps", "500"},
                         {"model.sampling.timesteps", "8"},
                         {"model.sampling.scheduler_type", "non_uniform"},
                         {"model.sampling.eta", "0.5"},
                         {"train.micro_batch", "2"},
                         {"train.accumulation", "2"},
                         {"train.global_batch", "auto"},
                         {"train.length", "30ep"},
                         {"train.validate_every", "100st"},
                         {"train.precision", "fp32"},
                         {"checkpoint.every", "2000st"},
                         {"optim.learning_rate", "2.0e-04"},
                         {"optim.betas", "[0.8, 0.999]"},
                         {"optim.eps", "1.0e-07"},
                         {"optim.clip_norm", "2.0"},
                         {"optim.ema_decay", "0.99"}}};

const Brought first_cascade_stage{{"xray_to_ct", "stage1"},
                                  {cascade_file},
                                  {{"model.volume_size", "32"},
                                   {"model.voxel_dim", "192"},
                                   {"model.vit_depth", "3"},
                                   {"model.num_heads", "3"},
                                   {"model.views", "[pa]"},
                                   {"model.noise.num_train_timesteps", "400"},
                                   {"model.prediction_type", "v_prediction"},
                                   {"loss.physics_weight", "0.2"},
                                   {"data.folder", "pairs"},
                                   {"data.split.train", "0.7"},
                                   {"data.split.val", "0.2"},
                                   {"data.radiograph_size", "256"},
                                   {"data.augmentation", "false"},
                                   {"data.cache", "full"},
                                   {"data.flip_vertical", "true"},
                                   {"train.length", "70ep"},
                                   {"train.micro_batch", "4"},
                                   {"train.accumulation", "2"},
                                   {"train.precision", "fp32"},
                                   {"train.activation_checkpointing", "blocks"},
                                   {"optim.learning_rate", "2.0e-04"},
                                   {"optim.weight_decay", "0.02"},
                                   {"optim.clip_norm", "2.0"},
                                   {"optim.ema_decay", "0.99"}}};

const Brought second_cascade_stage{
    {"xray_to_ct", "stage2"},
    {cascade_file},
    {{"model.volume_size", "64"}, {"model.voxel_dim", "128"}, {"loss.physics_weight", "0.0"}}};

const Brought autoencoder{{"latent_diffusion", "autoencoder"},
                          {autoencoder_file, environment_file},
                          {{"model.channels", "[32, 64, 64]"},
                           {"model.num_res_blocks", "[1, 1, 1]"},
                           {"model.attention_levels", "[false, true, true]"},
                           {"model.latent_channels", "6"},
                           {"model.norm_num_groups", "16"},
                           {"model.with_encoder_nonlocal_attn", "true"},
                           {"loss.perceptual_weight", "0.5"},
                           {"loss.kl_weight", "1.0e-06"},
                           {"loss.recon_loss", "l2"},
                           {"data.kind", "npz"},
                           {"data.folder", "npz"},
                           {"data.split.val", "0.05"},
                           {"run.seed", "3"},
                           {"run.folder", "all_runs"},
                           {"train.micro_batch", "2"},
                           {"train.length", "50ep"},
                           {"train.validate_every", "10ep"},
                           {"optim.learning_rate", "0.001"},
                           {"optim.schedule.name", "constant"}}};

const Brought latent_diffusion_model{{"latent_diffusion", "diffusion"},
                                     {autoencoder_file},
                                     {{"model.channels", "[64, 64, 128]"},
                                      {"model.in_channels", "6"},
                                      {"model.num_head_channels", "[0, 0, 32]"},
                                      {"model.noise.schedule", "linear"},
                                      {"model.noise.num_train_timesteps", "500"},
                                      {"model.sampling.clip_sample", "true"},
                                      {"train.micro_batch", "3"},
                                      {"train.length", "60ep"},
                                      {"optim.schedule.name", "multistep"},
                                      {"optim.schedule.milestones", R"(["10ep", "20ep"])"}}};

const Brought vqa{{"xray_vqa", "finetune"},
                  {vqa_file},
                  {{"model.convnext.size", "tiny"},
                   {"model.width", "384"},
                   {"model.interaction.layers", "3"},
                   {"model.interaction.heads", "6"},
                   {"model.interaction.dropout", "0.2"},
                   {"model.projection", "256"},
                   {"model.embedding", "32"},
                   {"data.folder", "jpg"},
                   {"data.questions", "qba"},
                   {"data.quality_grade", "A"},
                   {"data.view_filter", "all"},
                   {"data.image_size", "256"},
                   {"data.question_length", "64"},
                   {"loss.vqa", "2.0"},
                   {"loss.chexpert", "0.4"},
                   {"loss.binary", "0.9"},
                   {"loss.severity", "0.7"},
                   {"train.micro_batch", "16"},
                   {"train.accumulation", "4"},
                   {"train.global_batch", "auto"},
                   {"train.length", "30ep"},
                   {"train.precision", "auto"},
                   {"train.early_stopping", "6"},
                   {"train.validate_every", "2500st"},
                   {"checkpoint.every", "5000st"},
                   {"checkpoint.keep_last", "5"},
                   {"parallel.strategy", "zero2"},
                   {"optim.learning_rate", "5.0e-05"},
                   {"optim.schedule.rise", "0.2"},
                   {"run.folder", "all_runs"},
                   {"run.seed", "7"}}};

const std::vector<Brought> all_brought{fast_ddpm,   first_cascade_stage,    second_cascade_stage,
                                       autoencoder, latent_diffusion_model, vqa};

/// The keys that have a value; not those of sections, nor the names of their items.
std::set<std::string> keys_in(const std::string& content) {
  const std::regex key(R"re("?(\w+)"?: (?!\{|\[\n|"stage))re");
  std::set<std::string> all;
  for (std::sregex_iterator found(content.begin(), content.end(), key), end; found != end; ++found)
    all.insert((*found)[1].str());
  return all;
}

LoadedConfig loaded_with(const StageName& name, const std::vector<fs::path>& files) {
  const Workload workload = workload_named(name.workload);
  auto sources = tiny_sources(name);
  sources.files = {sources.files.front().parent_path() / "default.yaml"};
  sources.files.insert(sources.files.end(), files.begin(), files.end());
  sources.stages = workload.stages();
  sources.is_draft = true;
  const auto stage = workload.stage(name.stage);
  return load_config(sources, workload.name(), name.stage, fields_of(workload, name.stage, *stage));
}

TEST(GuideFiles, SayWhatTheyAskForInOurKeys) {
  for (const auto& brought : all_brought) {
    SCOPED_TRACE(brought.stage.workload + " " + brought.stage.stage);
    const ScratchFolder scratch;
    std::vector<fs::path> files;
    for (const char* content : brought.files) {
      files.push_back(scratch.path() / text("guide", files.size(), ".yml"));
      std::ofstream(files.back()) << content;
    }
    const auto loaded = loaded_with(brought.stage, files);
    ValueMap found;
    for (const auto& origin : loaded.origins) {
      if (!brought.says.contains(origin.key)) continue;
      found[origin.key] = origin.value;
      EXPECT_THAT(origin.origin, HasSubstr("guide")) << origin.key;
    }
    EXPECT_EQ(found, brought.says);
    for (const char* content : brought.files) {
      for (const auto& key : keys_in(content))
        EXPECT_THAT(loaded.notes, Contains(ContainsRegex(text("[. ]", key, "[: ]"))))
            << "no line says what becomes of it";
    }
  }
}

TEST(GuideFiles, SayTheSameWhenTheyAreImportedAsOurs) {
  for (const auto& brought : all_brought) {
    SCOPED_TRACE(brought.stage.workload + " " + brought.stage.stage);
    const ScratchFolder scratch;
    const Workload workload = workload_named(brought.stage.workload);
    const auto stages = workload.stages();
    std::vector<fs::path> files;
    for (const char* content : brought.files) {
      const auto theirs = scratch.path() / text("guide", files.size(), ".yml");
      std::ofstream(theirs) << content;
      files.push_back(scratch.path() / text("ours", files.size(), ".yaml"));
      const ImportTerms terms{.guide_files = workload.guide().files,
                              .stages = stages,
                              .flags = workload.guide().flags,
                              .batch_is_of_all = false};
      EXPECT_TRUE(can_import(theirs, terms));
      std::ofstream(files.back()) << import_file(theirs, terms).to_yaml();
    }
    ValueMap found;
    for (const auto& origin : loaded_with(brought.stage, files).origins) {
      if (!brought.says.contains(origin.key)) continue;
      found[origin.key] = origin.value;
      EXPECT_THAT(origin.origin, HasSubstr("ours")) << origin.key;
    }
    EXPECT_EQ(found, brought.says);
  }
}

// A key of ours that is misspelt in a table would be a fault of every file that has its row.
TEST(GuideFiles, AreSaidInKeysThatTheConfigKnows) {
  for (const Workload& workload : make_workloads()) {
    if (workload.guide().files.empty()) continue;
    std::map<std::string, std::set<std::string>> ours;
    for (const auto& name : workload.stages()) {
      for (const auto& origin : loaded_with({workload.name(), name}, {}).origins)
        ours[name].insert(origin.key);
    }
    for (const auto& file : workload.guide().files) {
      for (const auto& key : file.keys) {
        using enum GuideKey::Way;
        if (key.way == unneeded || key.way == missing || key.way == fixed) continue;
        const std::string said = key.ours;
        const auto sign = said.find(':');
        for (const auto& [stage, known] : ours) {
          if (sign != std::string::npos && said.substr(0, sign) != stage) continue;
          EXPECT_TRUE(known.contains(sign == std::string::npos ? said : said.substr(sign + 1)))
              << workload.name() << " " << stage << ": " << key.theirs << " -> " << said;
        }
      }
    }
  }
}

TEST(GuideFiles, OfAnotherWorkloadAreFaultsAndNoHalfOfAConfig) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "other.json";
  std::ofstream(file) << cascade_file;
  try {
    loaded_with({"xray_vqa", "finetune"}, {file});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("stage_configs is not known in the file of the VQA guide"));
    EXPECT_THAT(error.message(), HasSubstr("training.num_epochs_per_stage is not known"));
  }
}

// `training` is a slip for `train`: nothing of such a file may be lost.
TEST(GuideFiles, AreNotWhatHasASlipForASection) {
  const ScratchFolder scratch;
  const auto file = scratch.path() / "mine.yaml";
  std::ofstream(file) << "training: {length: 3ep, micro_batch: 2}\ndata: {folder: mine}\n";
  for (const auto& [workload, stage] : std::vector<std::pair<std::string, std::string>>{
           {"xray_vqa", "finetune"}, {"fast_ddpm", "denoiser"}, {"xray_to_ct", "stage1"}}) {
    try {
      loaded_with({workload, stage}, {file});
      ADD_FAILURE() << workload;
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), HasSubstr("training.length is not known")) << workload;
      EXPECT_THAT(error.message(), HasSubstr("our section is `train`")) << workload;
    }
  }
}

}  // namespace
}  // namespace larmor::testing

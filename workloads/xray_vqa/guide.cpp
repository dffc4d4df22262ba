#include "workloads/xray_vqa/guide.h"

namespace larmor::xray_vqa {
namespace guide {
namespace {

using enum GuideKey::Way;

constexpr const char* by_plan = "the plan chooses it for this machine";
constexpr const char* by_weights = "weights are named by model.image_weights and model.text_weights";
constexpr const char* by_metric = "checkpoint.metric names it, and checkpoint.mode says which is better";
constexpr const char* by_data = "the data say how many there are";
constexpr const char* not_sent = "a run is sent nowhere";

constexpr GuideKey keys[] = {
    {"training.batch_size_per_gpu", "train.micro_batch"},
    {"training.batch_size", "train.micro_batch"},
    {"training.gradient_accumulation_steps", "train.accumulation"},
    {"training.learning_rate", "optim.learning_rate"},
    {"training.weight_decay", "optim.weight_decay"},
    {"training.warmup_ratio", "optim.schedule.rise"},
    {"training.max_grad_norm", "optim.clip_norm"},
    {"training.gradient_clipping", "optim.clip_norm"},
    {"training.epochs", "train.length", counted, "ep"},
    {"training.num_epochs", "train.length", counted, "ep"},
    {"training.num_train_epochs", "train.length", counted, "ep"},
    {"training.fp16", "train.precision", chosen, "true=auto|false=fp32"},
    {"training.bf16", "train.precision", chosen, "true=auto|false=fp32"},
    {"training.gradient_checkpointing", "train.activation_checkpointing", chosen, "true=blocks|false=none"},
    {"training.early_stopping_patience", "train.early_stopping"},
    {"training.save_steps", "checkpoint.every", counted, "st"},
    {"training.save_total_limit", "checkpoint.keep_last"},
    {"training.eval_steps", "train.validate_every", counted, "st"},
    {"training.seed", "run.seed"},
    {"training.output_dir", "run.folder"},
    {"training.vqa_loss_weight", "loss.vqa"},
    {"training.chexpert_loss_weight", "loss.chexpert"},
    {"training.binary_weight", "loss.binary"},
    {"training.category_weight", "loss.category"},
    {"training.region_weight", "loss.region"},
    {"training.severity_weight", "loss.severity"},
    {"training.binary_head_weight", "loss.binary"},
    {"training.category_head_weight", "loss.category"},
    {"training.region_head_weight", "loss.region"},
    {"training.severity_head_weight", "loss.severity"},
    {"training.logging_steps", "every step is tracked", unneeded},
    {"training.metric_for_best_model", by_metric, unneeded},
    {"training.greater_is_better", by_metric, unneeded},
    {"training.dataloader_num_workers", by_plan, unneeded},
    {"training.dataloader_pin_memory", by_plan, unneeded},
    {"training.dataloader_prefetch_factor", by_plan, unneeded},
    {"training.hub_model_id", not_sent, missing},
    {"training.hub_private_repo", not_sent, unneeded},
    {"training.push_to_hub_strategy", not_sent, unneeded},
    {"data.mimic_cxr_jpg_path", "data.folder"},
    {"data.mimic_cxr_path", "data.folder"},
    {"data.mimic_ext_cxr_qba_path", "data.questions"},
    {"data.mimic_qa_path", "data.questions"},
    {"data.chexpert_labels_path", "labels are those of the tables in data.folder", missing},
    {"data.quality_grade", "data.quality_grade"},
    {"data.view_filter", "data.view_filter"},
    {"data.question_types", "questions of all types are asked", missing},
    {"data.image_size", "data.image_size"},
    {"data.normalize_mean", "pictures are normalised as ImageNet's", fixed, "[0.485, 0.456, 0.406]"},
    {"data.normalize_std", "pictures are normalised as ImageNet's", fixed, "[0.229, 0.224, 0.225]"},
    {"data.max_question_length", "data.question_length"},
    {"model.max_question_length", "data.question_length"},
    {"model.visual_encoder", by_weights, unneeded},
    {"model.visual_backbone", "model.convnext.size", chosen,
     "convnext_tiny=tiny|convnext_small=small|convnext_base=base|convnext_large=large"},
    {"model.text_encoder", by_weights, unneeded},
    {"model.hidden_size", "model.width"},
    {"model.sim_layers", "model.interaction.layers"},
    {"model.num_attention_heads", "model.interaction.heads"},
    {"model.hidden_dropout_prob", "model.interaction.dropout"},
    {"model.attention_probs_dropout_prob", "model.interaction.attention_dropout"},
    {"model.visual_feature_dim", "model.projection"},
    {"model.region_embedding_dim", "model.embedding"},
    {"model.entity_embedding_dim", "model.embedding"},
    {"model.scene_graph_dim", "it follows from model.embedding", unneeded},
    {"model.num_hidden_layers", "it builds nothing in the guide's code", unneeded},
    {"model.visual_embedding_dim", "it builds nothing in the guide's code", unneeded},
    {"model.intermediate_size", "it builds nothing in the guide's code", unneeded},
    {"model.vocab_size", "it is that of data.vocabulary", unneeded},
    {"model.num_regions", by_data, unneeded},
    {"model.num_entities", by_data, unneeded},
    {"model.num_binary_classes", by_data, unneeded},
    {"model.num_category_classes", by_data, unneeded},
    {"model.num_region_classes", by_data, unneeded},
    {"model.num_severity_classes", by_data, unneeded},
    {"deepspeed.stage", "parallel.strategy", chosen, "0=ddp|1=zero1|2=zero2|3=zero3", "enabled"},
    {"deepspeed.enabled", "deepspeed.stage says how ranks share states", unneeded},
    {"deepspeed.config", "say -c FILE with DeepSpeed's JSON beside", unneeded},
    {"deepspeed.config_path", "say -c FILE with DeepSpeed's JSON beside", unneeded},
    {"wandb", "track.wandb.enabled=true sends a run to it", unneeded},
};

}  // namespace
}  // namespace guide

ForeignFlags guide_flags() {
  return {{"mimic-cxr-path", "say `data.folder=`"},
          {"mimic-qa-path", "say `data.questions=`"},
          {"batch-size", "say `train.micro_batch=`, or `train.global_batch=` for all GPUs together"},
          {"gradient-accumulation-steps", "say `train.accumulation=`"},
          {"auto-optimize", "leave it out: the plan is made for the machine, or say `plan.profile=guide`"},
          {"no-auto-optimize", "say `train.micro_batch=`, `train.accumulation=` and `parallel.strategy=`"},
          {"use-deepspeed", "say `parallel.strategy=zero2`"},
          {"use-ddp", "say `parallel.strategy=ddp`"},
          {"deepspeed", "say `parallel.strategy=zero2`"},
          {"torchrun", "say `parallel.strategy=ddp`"},
          {"no-auto", "say `train.micro_batch=`, `train.accumulation=` and `parallel.strategy=`"},
          {"debug", "say `--try`, every phase once in a minute; `-c tiny` needs no data"},
          {"hub-model-id", "leave it out: a run folder is copied as it is"},
          {"wandb-project", "say `track.wandb.project=`"},
          {"disable-wandb", "leave it out: nothing is sent unless track.wandb.enabled=true"},
          {"skip-data-check", "leave it out, or say `data.bad_files=` for how many bad files are borne"}};
}

GuideFiles guide_files() {
  return {{.name = "the file of the VQA guide", .known_by = {"training"}, .keys = guide::keys}};
}

}  // namespace larmor::xray_vqa

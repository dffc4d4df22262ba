#include "larmor/config/foreign/guide_yaml.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_answers.h"

namespace larmor {
namespace {

using deepspeed::find_below;
using deepspeed::flag_in;
using deepspeed::number_in;

/// What becomes of a value.
enum class Way {
  as_it_is,
  epochs,         // 20 is 20ep
  steps,          // 5000 is 5000st
  mixed,          // true is what the device can, false float32
  recomputation,  // true is blocks
  stage,          // 2 is zero2
  nothing
};

struct GuideKey {
  std::string_view theirs;  // "training.epochs"; a section stands for all below it
  const char* ours;         // or why nothing of ours stands for it
  Way way = Way::as_it_is;
};

constexpr const char* chosen_by_plan = "the plan chooses it for this machine";
constexpr const char* by_from = "weights are named by model.image_weights and model.text_weights";

constexpr std::array guide_keys{
    GuideKey{"training.batch_size_per_gpu", "train.micro_batch"},
    GuideKey{"training.batch_size", "train.micro_batch"},
    GuideKey{"training.gradient_accumulation_steps", "train.accumulation"},
    GuideKey{"training.learning_rate", "optim.learning_rate"},
    GuideKey{"training.weight_decay", "optim.weight_decay"},
    GuideKey{"training.warmup_ratio", "optim.schedule.rise"},
    GuideKey{"training.max_grad_norm", "optim.clip_norm"},
    GuideKey{"training.gradient_clipping", "optim.clip_norm"},
    GuideKey{"training.epochs", "train.length", Way::epochs},
    GuideKey{"training.num_epochs", "train.length", Way::epochs},
    GuideKey{"training.num_train_epochs", "train.length", Way::epochs},
    GuideKey{"training.fp16", "train.precision", Way::mixed},
    GuideKey{"training.bf16", "train.precision", Way::mixed},
    GuideKey{"training.gradient_checkpointing", "train.activation_checkpointing", Way::recomputation},
    GuideKey{"training.early_stopping_patience", "train.early_stopping"},
    GuideKey{"training.save_steps", "checkpoint.every", Way::steps},
    GuideKey{"training.save_total_limit", "checkpoint.keep_last"},
    GuideKey{"training.seed", "run.seed"},
    GuideKey{"training.output_dir", "run.folder"},
    GuideKey{"training.vqa_loss_weight", "loss.vqa"},
    GuideKey{"training.chexpert_loss_weight", "loss.chexpert"},
    GuideKey{"training.binary_weight", "loss.binary"},
    GuideKey{"training.category_weight", "loss.category"},
    GuideKey{"training.region_weight", "loss.region"},
    GuideKey{"training.severity_weight", "loss.severity"},
    GuideKey{"training.eval_steps", "train.validate_every=1ep validates", Way::nothing},
    GuideKey{"training.logging_steps", "every step is tracked", Way::nothing},
    GuideKey{"training.metric_for_best_model",
             "checkpoint.metric names it, val/accuracy unless said otherwise", Way::nothing},
    GuideKey{"training.dataloader_num_workers", chosen_by_plan, Way::nothing},
    GuideKey{"training.dataloader_pin_memory", chosen_by_plan, Way::nothing},
    GuideKey{"training.dataloader_prefetch_factor", chosen_by_plan, Way::nothing},
    GuideKey{"data.mimic_cxr_jpg_path", "data.folder"},
    GuideKey{"data.mimic_cxr_path", "data.folder"},
    GuideKey{"data.mimic_ext_cxr_qba_path", "data.questions"},
    GuideKey{"data.mimic_qa_path", "data.questions"},
    GuideKey{"data.quality_grade", "data.quality_grade"},
    GuideKey{"data.view_filter", "data.view_filter"},
    GuideKey{"data.image_size", "data.image_size"},
    GuideKey{"data.max_question_length", "data.question_length"},
    GuideKey{"model.visual_encoder", by_from, Way::nothing},
    GuideKey{"model.text_encoder", by_from, Way::nothing},
    GuideKey{"model.num_hidden_layers", "it builds nothing in the guide's code", Way::nothing},
    GuideKey{"model.visual_embedding_dim", "it builds nothing in the guide's code", Way::nothing},
    GuideKey{"model.intermediate_size", "it builds nothing in the guide's code", Way::nothing},
    GuideKey{"model.vocab_size", "it is that of data.vocabulary", Way::nothing},
    GuideKey{"deepspeed.stage", "parallel.strategy", Way::stage},
    GuideKey{"deepspeed.enabled", "deepspeed.stage says how ranks share states", Way::nothing},
    GuideKey{"deepspeed.config", "say -c FILE with DeepSpeed's JSON beside", Way::nothing},
    GuideKey{"wandb", "events.jsonl and tb/ hold what is tracked", Way::nothing}};

class GuideTranslator : private deepspeed::Answers {
 public:
  GuideTranslator(const Node& root, Problems& problems) : Answers(problems), root_(root) {}

  Translation translate() {
    for (const Entry& entry : root_.entries) visit(entry.key, entry);
    // What is said of one GPU decides the whole, however many there are.
    const Entry* const accumulation = find_below(root_, "training", "gradient_accumulation_steps");
    if (accumulation != nullptr && has_batch()) put("train.global_batch", "auto", *accumulation);
    return take();
  }

 private:
  bool has_batch() const {
    return find_below(root_, "training", "batch_size_per_gpu") != nullptr ||
           find_below(root_, "training", "batch_size") != nullptr;
  }

  void visit(const std::string& key, const Entry& entry) {
    const auto* const known = std::ranges::find(guide_keys, key, &GuideKey::theirs);
    if (known != guide_keys.end()) return answer(*known, key, entry);
    if (entry.value.kind == Node::Kind::mapping) {
      for (const Entry& inner : entry.value.entries) visit(text(key, '.', inner.key), inner);
      return;
    }
    std::vector<std::string> names;
    for (const GuideKey& one : guide_keys) names.emplace_back(one.theirs);
    const std::string near = nearest(key, names);
    note(entry, text(key, " is not known here and changes nothing",
                     near.empty() ? "" : text("; did you mean ", near, "?")));
  }

  void answer(const GuideKey& known, const std::string& key, const Entry& entry) {
    switch (known.way) {
      case Way::as_it_is:
        return pass(key, known.ours, entry);
      case Way::epochs:
        return counted(known, key, entry, "ep");
      case Way::steps:
        return counted(known, key, entry, "st");
      case Way::mixed:
        return switched(known, key, entry, "auto", "fp32");
      case Way::recomputation:
        return switched(known, key, entry, "blocks", "none");
      case Way::stage:
        return shared(known, key, entry);
      case Way::nothing:
        return note(entry, text(key, " has no meaning here: ", known.ours));
    }
  }

  void counted(const GuideKey& known, const std::string& key, const Entry& entry, const char* unit) {
    const auto number = number_in(entry.value);
    if (!number || *number <= 0) return fault(key, entry, "has to be a number above 0");
    give(key, known.ours, text(entry.value.text, unit).c_str(), entry);
  }

  void switched(const GuideKey& known, const std::string& key, const Entry& entry, const char* on,
                const char* off) {
    const auto flag = flag_in(entry.value);
    if (!flag) return fault(key, entry, "has to be true or false");
    give(key, known.ours, *flag ? on : off, entry);
  }

  void shared(const GuideKey& known, const std::string& key, const Entry& entry) {
    const Entry* const enabled = find_below(root_, "deepspeed", "enabled");
    const auto is_on = enabled == nullptr ? std::optional(true) : flag_in(enabled->value);
    if (is_on && !*is_on) return note(entry, text(key, " has no meaning here: deepspeed.enabled is false"));
    const auto number = number_in(entry.value);
    if (!number || *number < 0 || *number > 3) return fault(key, entry, "has to be 0, 1, 2 or 3");
    give(key, known.ours, *number == 0 ? "ddp" : text("zero", entry.value.text).c_str(), entry);
  }

  const Node& root_;
};

}  // namespace

bool is_guide_yaml(const Node& root) {
  if (root.kind != Node::Kind::mapping || find_entry(root, "training") == nullptr) return false;
  constexpr std::array<std::string_view, 8> only_ours{"run",  "train", "optim",      "parallel",
                                                      "plan", "track", "checkpoint", "loss"};
  return std::ranges::none_of(only_ours,
                              [&](std::string_view key) { return find_entry(root, key) != nullptr; });
}

Translation translate_guide_yaml(const Node& root, Problems& problems) {
  return GuideTranslator(root, problems).translate();
}

}  // namespace larmor

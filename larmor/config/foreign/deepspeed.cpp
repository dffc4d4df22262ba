#include "larmor/config/foreign/deepspeed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_answers.h"
#include "larmor/config/foreign/deepspeed_keys.h"
#include "larmor/config/foreign/deepspeed_schedule.h"

namespace larmor {
namespace {

using deepspeed::find_below;
using deepspeed::find_parameter;
using deepspeed::flag_in;
using deepspeed::is_left_open;
using deepspeed::is_off;
using deepspeed::number_in;

bool is_deepspeeds(std::string_view key) {
  const auto sections = deepspeed_sections();
  return std::find(sections.begin(), sections.end(), key) != sections.end() ||
         find_unused_key(key) != nullptr;
}

bool is_ours(std::string_view key) {
  constexpr std::array<std::string_view, 9> sections{"run",   "data",     "model", "loss", "train",
                                                     "optim", "parallel", "track", "plan"};
  return std::find(sections.begin(), sections.end(), key) != sections.end();
}

class Translator : private deepspeed::Answers {
 public:
  Translator(const Node& root, Problems& problems) : Answers(problems), root_(root), schedule_(root, *this) {}

  Translation translate() {
    for (const Entry& entry : root_.entries) top(entry);
    return take();
  }

 private:
  using Visit = void (Translator::*)(const Entry& entry);

  void top(const Entry& entry) {
    const std::string& key = entry.key;
    if (key == "train_batch_size") return pass(key, "train.global_batch", entry);
    if (key == "train_micro_batch_size_per_gpu") return pass(key, "train.micro_batch", entry);
    if (key == "gradient_accumulation_steps") return pass(key, "train.accumulation", entry);
    if (key == "gradient_clipping") return pass(key, "optim.clip_norm", entry);
    if (key == "zero_optimization") return below(key, entry, &Translator::zero);
    if (key == "fp16" || key == "bf16" || key == "bfloat16") return below(key, entry, &Translator::half);
    if (key == "activation_checkpointing") return activations(entry);
    if (key == "optimizer") return below(key, entry, &Translator::optimizer);
    if (key == "scheduler") return below(key, entry, &Translator::scheduler);
    unused(key, entry);
  }

  /// Visits the entries of a section, which are called section.entry.
  void below(const std::string& key, const Entry& section, Visit visit) {
    if (section.value.kind == Node::Kind::nothing) return open(key, "what it is about", section);
    if (section.value.kind != Node::Kind::mapping)
      return fault(key, section, "has to be a section with keys of its own");
    const std::string around = std::exchange(around_, key == "bfloat16" ? "bf16" : key);
    for (const Entry& entry : section.value.entries) (this->*visit)(entry);
    around_ = around;
  }

  void zero(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key == "stage") {
      constexpr std::array<const char*, 4> strategies{"ddp", "zero1", "zero2", "zero3"};
      if (is_left_open(entry.value)) return open(key, "parallel.strategy", entry);
      const auto stage = number_in(entry.value);
      if (!stage || *stage < 0 || *stage > 3 || *stage != std::floor(*stage))
        return fault(key, entry, "has to be 0, 1, 2 or 3");
      return give(key, "parallel.strategy", strategies[static_cast<size_t>(*stage)], entry);
    }
    if (entry.key == "offload_optimizer") return below(key, entry, &Translator::offload);
    if (entry.key == "cpu_offload" && !is_left_open(entry.value)) {
      const auto flag = flag_in(entry.value);
      if (!flag) return fault(key, entry, "has to be true or false");
      return give(key, "parallel.offload", *flag ? "optimizer" : "none", entry);
    }
    if (entry.key == "offload_param" && entry.value.kind == Node::Kind::mapping && is_disk(entry.value))
      return fault(text(key, ".device"), entry, "is nvme, and nothing is offloaded to a disk here");
    unused(key, entry);
  }

  static bool is_disk(const Node& section) {
    const Entry* const device = find_entry(section, "device");
    return device != nullptr && device->value.text == "nvme";
  }

  void offload(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key != "device") return unused(key, entry);
    if (is_left_open(entry.value)) return open(key, "parallel.offload", entry);
    const std::string& device = entry.value.text;
    if (device == "cpu") return give(key, "parallel.offload", "optimizer", entry);
    if (device == "none") return give(key, "parallel.offload", "none", entry);
    fault(key, entry,
          device == "nvme" ? "is nvme, and nothing is offloaded to a disk here: say cpu"
                           : "has to be cpu or none");
  }

  void half(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key != "enabled") return unused(key, entry);
    if (is_left_open(entry.value)) return open(key, "train.precision", entry);
    const auto enabled = flag_in(entry.value);
    if (!enabled) return fault(key, entry, "has to be true or false");
    const Entry* const fp16 = find_below(root_, "fp16", "enabled");
    const Entry* bf16 = find_below(root_, "bf16", "enabled");
    if (bf16 == nullptr) bf16 = find_below(root_, "bfloat16", "enabled");
    const Entry* const other = &entry == fp16 ? bf16 : fp16;
    const bool other_is_on = other != nullptr && flag_in(other->value).value_or(false);
    if (*enabled && other_is_on) {
      if (&entry != fp16)
        fault(key, entry, text("is true, and so is fp16.enabled on line ", fp16->place.line));
      return;
    }
    if (*enabled) return give(key, "train.precision", around_.c_str(), entry);
    if (other_is_on || (other != nullptr && is_left_open(other->value)))
      return note(entry, text(key, " false: the other format decides"));
    if (&entry == bf16 && fp16 != nullptr) return note(entry, text(key, " false: as fp16.enabled is"));
    give(key, "train.precision", "fp32", entry);
  }

  void activations(const Entry& section) {
    const std::string& key = section.key;
    if (section.value.kind == Node::Kind::mapping) {
      const auto asks = [](const Entry& entry) {
        const bool recomputes = entry.key == "partition_activations" || entry.key == "cpu_checkpointing" ||
                                entry.key == "contiguous_memory_optimization" ||
                                entry.key == "number_checkpoints";
        return recomputes && !is_off(entry.value);
      };
      const auto& entries = section.value.entries;
      if (std::any_of(entries.begin(), entries.end(), asks)) {
        give(key, "train.activation_checkpointing", "blocks", section);
      } else {
        note(section, text(key, " asks for nothing: train.activation_checkpointing stays as it is"));
      }
    }
    below(key, section, &Translator::activation);
  }

  void activation(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key != "number_checkpoints") return unused(key, entry);
    note(entry, text(key, " has no meaning here: every block is one"));
  }

  void optimizer(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key == "params") return below(key, entry, &Translator::optimizer_parameter);
    if (entry.key != "type") return unused(key, entry);
    if (is_left_open(entry.value)) return open(key, "optim.name", entry);
    const std::string name = optimizer_name();
    if (name.empty()) {
      return note(entry, text(key, ' ', entry.value.text,
                              " is not supported: optim stays as it is; there are ", "adamw, adam and sgd"));
    }
    give(key, "optim.name", name.c_str(), entry);
  }

  /// Ours; "" where there is none, or no word of it. DeepSpeed's Adam is AdamW unless adam_w_mode is false.
  std::string optimizer_name() const {
    const Entry* const type = find_below(root_, "optimizer", "type");
    if (type == nullptr) return "";
    const std::string name = lower(type->value.text);
    if (name != "adam") return name == "adamw" || name == "sgd" ? name : "";
    const Entry* const mode = find_parameter(root_, "optimizer", "adam_w_mode");
    return mode == nullptr || flag_in(mode->value).value_or(true) ? "adamw" : "adam";
  }

  void optimizer_parameter(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    const Entry* const type = find_below(root_, "optimizer", "type");
    const bool is_foreign = type != nullptr && !is_left_open(type->value) && optimizer_name().empty();
    if (is_foreign)
      return note(entry, text(key, " has no meaning here: it is of an optimizer that is not supported"));
    if (entry.key == "lr") {
      const Entry* const top = schedule_.highest_rate();
      const bool is_overruled = top != nullptr && top->key != "lr";
      if (!is_overruled) return pass(key, "optim.learning_rate", entry);
      return note(entry, text(key, ": scheduler.params.", top->key, " decides"));
    }
    if (entry.key == "adam_w_mode") {
      if (!is_left_open(entry.value) && !flag_in(entry.value))
        return fault(key, entry, "has to be true or false");
      return note(entry, text(key, ": whether Adam is optim.name=adamw or adam"));
    }
    constexpr std::array<std::string_view, 4> same{"betas", "eps", "weight_decay", "momentum"};
    if (std::find(same.begin(), same.end(), entry.key) == same.end()) return unused(key, entry);
    pass(key, text("optim.", entry.key), entry);
  }

  void scheduler(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    if (entry.key == "params") return below(key, entry, &Translator::schedule_parameter);
    if (entry.key != "type") return unused(key, entry);
    schedule_.type(key, entry);
  }

  void schedule_parameter(const Entry& entry) { schedule_.parameter(text(around_, '.', entry.key), entry); }

  const Node& root_;
  std::string around_;
  deepspeed::Schedule schedule_;
};

}  // namespace

bool is_deepspeed(std::string_view content, const Node& root) {
  if (!looks_like_json(content)) return false;
  bool some = false;
  for (const Entry& entry : root.entries) {
    if (is_ours(entry.key)) return false;
    // `checkpoint` is a section of both.
    some = some || (is_deepspeeds(entry.key) && entry.key != "checkpoint");
  }
  return some;
}

Translation translate_deepspeed(const Node& root, Problems& problems) {
  return Translator(root, problems).translate();
}

}  // namespace larmor

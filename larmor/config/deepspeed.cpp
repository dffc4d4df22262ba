#include "larmor/config/deepspeed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/config/deepspeed_keys.h"
#include "larmor/config/tree.h"

namespace larmor {
namespace {

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

bool is_left_open(const Node& value) {
  const bool is_word = value.kind == Node::Kind::plain || value.kind == Node::Kind::quoted;
  return value.kind == Node::Kind::nothing || (is_word && value.text == "auto");
}

std::optional<bool> as_flag(const Node& value) {
  if (value.kind != Node::Kind::plain || (value.text != "true" && value.text != "false")) return std::nullopt;
  return value.text == "true";
}

std::optional<double> number_in(const Node& value) {
  if (value.kind != Node::Kind::plain) return std::nullopt;
  double number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, problem] = std::from_chars(value.text.data(), end, number);
  if (problem != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// Whether it asks for nothing: false, 0, "none", or what DeepSpeed fills in itself.
bool is_off(const Node& value) {
  if (is_left_open(value) || value.text == "none") return true;
  const auto flag = as_flag(value);
  const auto number = number_in(value);
  if (value.kind == Node::Kind::mapping) {
    return std::all_of(value.entries.begin(), value.entries.end(),
                       [](const Entry& entry) { return is_off(entry.value); });
  }
  return (flag && !*flag) || (number && *number == 0);
}

Node plain(std::string value, int line) {
  return {.kind = Node::Kind::plain, .text = std::move(value), .items = {}, .entries = {}, .line = line};
}

/// The value below the words; nothing where there is none.
const Entry* find_below(const Node& root, std::string_view section, std::string_view key) {
  const Entry* const entry = find_entry(root, section);
  return entry == nullptr || entry->value.kind != Node::Kind::mapping ? nullptr
                                                                      : find_entry(entry->value, key);
}

const Entry* find_parameter(const Node& root, std::string_view section, std::string_view key) {
  const Entry* const parameters = find_below(root, section, "params");
  return parameters == nullptr || parameters->value.kind != Node::Kind::mapping
             ? nullptr
             : find_entry(parameters->value, key);
}

class Translator {
 public:
  Translator(const Node& root, Problems& problems) : root_(root), problems_(problems) {
    result_.tree = empty_mapping();
  }

  Translation translate() {
    for (const Entry& entry : root_.entries) top(entry);
    std::stable_sort(notes_.begin(), notes_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& note : notes_) result_.notes.push_back(std::move(note.second));
    return std::move(result_);
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
      const auto flag = as_flag(entry.value);
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
    const auto enabled = as_flag(entry.value);
    if (!enabled) return fault(key, entry, "has to be true or false");
    const Entry* const fp16 = find_below(root_, "fp16", "enabled");
    const Entry* bf16 = find_below(root_, "bf16", "enabled");
    if (bf16 == nullptr) bf16 = find_below(root_, "bfloat16", "enabled");
    const Entry* const other = &entry == fp16 ? bf16 : fp16;
    const bool other_is_on = other != nullptr && as_flag(other->value).value_or(false);
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
    return mode == nullptr || as_flag(mode->value).value_or(true) ? "adamw" : "adam";
  }

  void optimizer_parameter(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    const Entry* const type = find_below(root_, "optimizer", "type");
    const bool is_foreign = type != nullptr && !is_left_open(type->value) && optimizer_name().empty();
    if (is_foreign)
      return note(entry, text(key, " has no meaning here: it is of an optimizer that is not supported"));
    if (entry.key == "lr") {
      const Entry* const top = highest_rate();
      const bool is_overruled = top != nullptr && top->key == "warmup_max_lr";
      if (!is_overruled) return pass(key, "optim.learning_rate", entry);
      return note(entry, text(key, ": scheduler.params.warmup_max_lr decides"));
    }
    if (entry.key == "adam_w_mode") {
      if (!is_left_open(entry.value) && !as_flag(entry.value))
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
    if (is_left_open(entry.value)) return open(key, "optim.schedule", entry);
    if (!is_cosine() && !is_linear() && !is_constant()) {
      return note(
          entry,
          text(key, ' ', entry.value.text,
               " is not supported: optim.schedule stays as it is; WarmupLR, WarmupDecayLR and "
               "WarmupCosineLR are",
               schedule() == "OneCycle" ? ", and optim.schedule.name=onecycle is one cycle of cosines" : ""));
    }
    const Entry* const top = highest_rate();
    if (is_constant() && top == nullptr) {
      return note(entry,
                  text(key, " WarmupLR: optim.schedule stays as it is, because the file gives no rate to ",
                       "rise to"));
    }
    give(key, "optim.schedule.name", is_linear() ? "warmup_linear" : "warmup_cosine", entry);
    // It falls to the rate from which it has risen, which is 0 unless the file says another.
    if (is_linear()) {
      const Entry* const lowest = find_parameter(root_, "scheduler", "warmup_min_lr");
      put("optim.schedule.final_rate",
          lowest != nullptr && number_in(lowest->value) ? lowest->value.text : "0", entry);
    }
    // A cosine from a rate to the same rate stays there.
    if (is_constant()) put("optim.schedule.final_rate", top->value.text, entry);
  }

  bool is_cosine() const { return schedule() == "WarmupCosineLR"; }
  bool is_linear() const { return schedule() == "WarmupDecayLR"; }
  bool is_constant() const { return schedule() == "WarmupLR"; }
  std::string schedule() const {
    const Entry* const type = find_below(root_, "scheduler", "type");
    return type == nullptr ? "" : type->value.text;
  }

  /// The number that the rate rises to: the scheduler's own, or the optimizer's.
  const Entry* highest_rate() const {
    const bool has_own = is_constant() || is_linear();
    const Entry* const own = !has_own ? nullptr : find_parameter(root_, "scheduler", "warmup_max_lr");
    if (own != nullptr && number_in(own->value)) return own;
    const Entry* const rate = find_parameter(root_, "optimizer", "lr");
    return rate != nullptr && number_in(rate->value) ? rate : nullptr;
  }

  void schedule_parameter(const Entry& entry) {
    const std::string key = text(around_, '.', entry.key);
    const std::string& name = entry.key;
    const bool is_known = is_cosine() || is_linear() || (is_constant() && highest_rate() != nullptr);
    if (!is_known) return note(entry, text(key, " has no meaning here: optim.schedule stays as it is"));
    const bool is_number_key = name == "warmup_num_steps" || (!is_constant() && name == "total_num_steps") ||
                               (is_cosine() && (name == "warmup_min_ratio" || name == "cos_min_ratio")) ||
                               (!is_cosine() && (name == "warmup_min_lr" || name == "warmup_max_lr"));
    if (!is_number_key) return unused(key, entry);
    if (is_left_open(entry.value)) return open(key, "optim.schedule", entry);
    const auto number = number_in(entry.value);
    if (!number || *number < 0) return fault(key, entry, "has to be a number of at least 0");
    const Entry* const top = highest_rate();
    const double rate = top == nullptr ? 0 : number_in(top->value).value_or(0);
    if (name == "warmup_num_steps")
      return give(key, "optim.schedule.warmup", text(entry.value.text, "st").c_str(), entry);
    if (name == "total_num_steps") return pass(key, "optim.schedule.steps", entry);
    if (name == "warmup_min_ratio") return pass(key, "optim.schedule.start", entry);
    if (name == "warmup_max_lr") return pass(key, "optim.learning_rate", entry);
    if (rate == 0)
      return note(entry, text(key, " is left out, because the file gives no rate to take it from"));
    if (name == "warmup_min_lr")
      return give(key, "optim.schedule.start", text(*number / rate).c_str(), entry);
    give(key, "optim.schedule.final_rate", text(*number * rate).c_str(), entry);
  }

  /// Our key gets DeepSpeed's value as it stands.
  void pass(const std::string& key, const std::string& our_key, const Entry& entry) {
    if (is_left_open(entry.value)) return open(key, our_key, entry);
    const bool is_word = entry.value.kind == Node::Kind::plain || entry.value.kind == Node::Kind::quoted;
    note(entry, text(key, ": ", our_key, is_word ? "=" : "", is_word ? entry.value.text : ""));
    put_value(result_.tree, split(our_key, '.'), entry.place, entry.value, problems_);
  }

  void give(const std::string& key, const char* our_key, const char* value, const Entry& entry) {
    const bool is_word = entry.value.kind == Node::Kind::plain || entry.value.kind == Node::Kind::quoted;
    note(entry, text(key, is_word ? text(' ', entry.value.text) : "", ": ", our_key, '=', value));
    put(our_key, value, entry);
  }

  void put(const char* our_key, const std::string& value, const Entry& entry) {
    put_value(result_.tree, split(our_key, '.'), entry.place, plain(value, entry.value.line), problems_);
  }

  void open(const std::string& key, const std::string& our_key, const Entry& entry) {
    note(entry, text(key, " is ", entry.value.kind == Node::Kind::nothing ? "empty" : "auto", ": ", our_key,
                     " stays as it is"));
  }

  void unused(const std::string& key, const Entry& entry) {
    if (const UnusedKey* const found = find_unused_key(key)) {
      const bool is_missed = found->is_missed && !is_off(entry.value);
      return note(entry, text(key, is_missed ? " is not supported: " : " has no meaning here: ", found->why));
    }
    const std::string near = nearest(key, deepspeed_keys());
    note(entry, text(key, " has no meaning here: DeepSpeed has no such key that is known here",
                     near.empty() ? "" : text("; did you mean ", near, "?")));
  }

  void fault(const std::string& key, const Entry& entry, std::string what) {
    const bool says_value = what.starts_with("has to be");
    problems_.push_back({key, place_text(entry.place),
                         says_value ? text(what, "; got ", shown(entry.value)) : std::move(what)});
  }

  void note(const Entry& entry, const std::string& what) {
    notes_.emplace_back(entry.place.line, text(place_text(entry.place), ": ", what));
  }

  const Node& root_;
  Problems& problems_;
  std::string around_;
  Translation result_;
  std::vector<std::pair<int, std::string>> notes_;  // with their lines
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

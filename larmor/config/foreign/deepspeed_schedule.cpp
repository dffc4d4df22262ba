#include "larmor/config/foreign/deepspeed_schedule.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "larmor/base/text.h"
#include "larmor/config/foreign/deepspeed_keys.h"

namespace larmor::deepspeed {
namespace {

constexpr double default_half = 2000;  // DeepSpeed's cycle_first_step_size

std::optional<double> number_of(const Entry* entry) {
  return entry == nullptr ? std::nullopt : number_in(entry->value);
}

bool is_count_of_steps(double number) { return number >= 1 && number == std::floor(number); }

std::string steps_text(double steps) { return text(static_cast<int64_t>(steps)); }

}  // namespace

std::string Schedule::name() const {
  const Entry* const type = find_below(root_, "scheduler", "type");
  return type == nullptr ? "" : type->value.text;
}

const Entry* Schedule::find(std::string_view parameter) const {
  return find_parameter(root_, "scheduler", parameter);
}

const Entry* Schedule::highest_rate() const {
  const Entry* own = nullptr;
  if (is_constant() || is_linear()) own = find("warmup_max_lr");
  if (is_cycle() && has_cycle()) own = find("cycle_max_lr");
  if (number_of(own)) return own;
  const Entry* const rate = find_parameter(root_, "optimizer", "lr");
  return number_of(rate) ? rate : nullptr;
}

void Schedule::type(const std::string& key, const Entry& entry) {
  if (is_left_open(entry.value)) return answers_.open(key, "optim.schedule", entry);
  if (is_cycle()) return cycle_type(key, entry);
  if (is_cosine() || is_linear() || is_constant()) return warmup_type(key, entry);
  answers_.note(entry, text(key, ' ', entry.value.text,
                            " is not supported: optim.schedule stays as it is; WarmupLR, WarmupDecayLR, "
                            "WarmupCosineLR and OneCycle are"));
}

void Schedule::parameter(const std::string& key, const Entry& entry) {
  const bool is_known = is_cosine() || is_linear() || (is_constant() && highest_rate() != nullptr) ||
                        (is_cycle() && has_cycle());
  if (!is_known)
    return answers_.note(entry, text(key, " has no meaning here: optim.schedule stays as it is"));
  is_cycle() ? cycle_parameter(key, entry) : warmup_parameter(key, entry);
}

void Schedule::warmup_type(const std::string& key, const Entry& entry) {
  const Entry* const top = highest_rate();
  if (is_constant() && top == nullptr) {
    return answers_.note(
        entry,
        text(key, " WarmupLR: optim.schedule stays as it is, because the file gives no rate to rise to"));
  }
  answers_.give(key, "optim.schedule.name", is_linear() ? "warmup_linear" : "warmup_cosine", entry);
  // It falls to the rate from which it has risen, which is 0 unless the file says another.
  if (is_linear()) {
    const Entry* const lowest = find("warmup_min_lr");
    answers_.put("optim.schedule.final_rate", number_of(lowest) ? lowest->value.text : "0", entry);
  }
  // A cosine from a rate to the same rate stays there.
  if (is_constant()) answers_.put("optim.schedule.final_rate", top->value.text, entry);
}

bool Schedule::is_number_of_warmup(const std::string& parameter) const {
  if (parameter == "warmup_num_steps") return true;
  if (parameter == "total_num_steps") return !is_constant();
  if (is_cosine()) return parameter == "warmup_min_ratio" || parameter == "cos_min_ratio";
  return parameter == "warmup_min_lr" || parameter == "warmup_max_lr";
}

void Schedule::warmup_parameter(const std::string& key, const Entry& entry) {
  const std::string& name = entry.key;
  if (!is_number_of_warmup(name)) return answers_.unused(key, entry);
  if (is_left_open(entry.value)) return answers_.open(key, "optim.schedule", entry);
  const auto number = number_in(entry.value);
  if (!number || *number < 0) return answers_.fault(key, entry, "has to be a number of at least 0");
  const double rate = number_of(highest_rate()).value_or(0);
  if (name == "warmup_num_steps")
    return answers_.give(key, "optim.schedule.warmup", text(entry.value.text, "st").c_str(), entry);
  if (name == "total_num_steps") return answers_.pass(key, "optim.schedule.steps", entry);
  if (name == "warmup_min_ratio") return answers_.pass(key, "optim.schedule.start", entry);
  if (name == "warmup_max_lr") return answers_.pass(key, "optim.learning_rate", entry);
  if (rate == 0)
    return answers_.note(entry, text(key, " is left out, because the file gives no rate to take it from"));
  if (name == "warmup_min_lr")
    return answers_.give(key, "optim.schedule.start", text(*number / rate).c_str(), entry);
  answers_.give(key, "optim.schedule.final_rate", text(*number * rate).c_str(), entry);
}

bool Schedule::has_cycle() const {
  const auto lowest = number_of(find("cycle_min_lr")), highest = number_of(find("cycle_max_lr"));
  return lowest && highest && *lowest >= 0 && *highest > 0 && *lowest <= *highest;
}

double Schedule::half(std::string_view parameter) const {
  const auto first = number_of(find("cycle_first_step_size"));
  return number_of(find(parameter)).value_or(first.value_or(default_half));
}

// A straight line up and one down to the rate that it came from, where it stays: DeepSpeed's rate at each
// step, as long as nothing decays behind the cycle. Source: deepspeed/runtime/lr_schedules.py.
void Schedule::cycle_type(const std::string& key, const Entry& entry) {
  if (!has_cycle()) {
    return answers_.note(entry, text(key, " OneCycle: optim.schedule stays as it is, because the file gives ",
                                     "no cycle_min_lr with a cycle_max_lr above it"));
  }
  answers_.give(key, "optim.schedule.name", "warmup_linear", entry);
  const Entry* const first = find("cycle_first_step_size");
  const Entry* const second = find("cycle_second_step_size");
  const Entry& says_length = second != nullptr ? *second : first != nullptr ? *first : entry;
  if (is_count_of_steps(first_half()) && is_count_of_steps(second_half())) {
    answers_.put("optim.schedule.warmup", steps_text(first_half()) + "st", first ? *first : entry);
    answers_.put("optim.schedule.steps", steps_text(first_half() + second_half()), says_length);
  }
  const double lowest = *number_of(find("cycle_min_lr")), highest = *number_of(find("cycle_max_lr"));
  answers_.put("optim.schedule.start", text(lowest / highest), *find("cycle_min_lr"));
  answers_.put("optim.schedule.final_rate", find("cycle_min_lr")->value.text, *find("cycle_min_lr"));
  if (find("cycle_momentum") == nullptr) cycle_momentum("scheduler.params.cycle_momentum", entry);
}

void Schedule::cycle_parameter(const std::string& key, const Entry& entry) {
  const std::string& name = entry.key;
  if (name == "cycle_min_lr" || name == "cycle_max_lr") return cycle_rate(key, entry);
  if (name == "cycle_first_step_size" || name == "cycle_second_step_size") return cycle_steps(key, entry);
  if (name == "cycle_momentum") return cycle_momentum(key, entry);
  if (name == "decay_lr_rate" || name == "decay_step_size") {
    // One is nothing without the other.
    const auto asks = [this](std::string_view parameter) {
      return number_of(find(parameter)).value_or(0) != 0;
    };
    const bool decays = asks("decay_lr_rate") && asks("decay_step_size");
    return answers_.note(entry, text(key, decays ? " is not supported" : " has no meaning here",
                                     ": after the cycle the rate stays at cycle_min_lr"));
  }
  answers_.unused(key, entry);
}

void Schedule::cycle_rate(const std::string& key, const Entry& entry) {
  if (entry.key == "cycle_max_lr") return answers_.pass(key, "optim.learning_rate", entry);
  answers_.tell(entry, text(key, ' ', entry.value.text, ": optim.schedule.final_rate=", entry.value.text,
                            ", and where optim.schedule starts"));
}

void Schedule::cycle_steps(const std::string& key, const Entry& entry) {
  if (is_left_open(entry.value)) return answers_.open(key, "DeepSpeed's own number of steps", entry);
  const auto number = number_in(entry.value);
  if (!number || !is_count_of_steps(*number))
    return answers_.fault(key, entry, "has to be a whole number of at least 1");
  const bool is_first = entry.key == "cycle_first_step_size";
  const bool says_length = !is_first || find("cycle_second_step_size") == nullptr;
  const auto rise = text("optim.schedule.warmup=", steps_text(first_half()), "st");
  const auto whole = text("optim.schedule.steps=", steps_text(first_half() + second_half()));
  answers_.tell(entry, text(key, ' ', entry.value.text, ": ", is_first ? rise : "",
                            is_first && says_length ? ", " : "", says_length ? whole : ""));
}

void Schedule::cycle_momentum(const std::string& key, const Entry& entry) {
  const Entry* const said = find("cycle_momentum");
  if (said != nullptr && !is_left_open(said->value)) {
    const auto flag = flag_in(said->value);
    if (!flag) return answers_.fault(key, entry, "has to be true or false");
    if (!*flag) return answers_.note(entry, text(key, " false: optim.betas stay as they are"));
  }
  answers_.note(entry, text(key, said == nullptr ? ", which DeepSpeed takes to be true," : "",
                            " is not supported: optim.betas stay as they are"));
}

}  // namespace larmor::deepspeed

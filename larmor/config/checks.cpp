#include "larmor/config/checks.h"

#include <algorithm>
#include <utility>

#include "larmor/base/text.h"

namespace larmor {

namespace {

void check_split(const SplitSection& split, std::vector<std::string>& faults) {
  double sum = 0;
  bool all_fractions = true;
  for (const auto& [name, part] : {std::pair{"train", &split.train}, {"val", &split.val}, {"test", &split.test}}) {
    const bool names = part->is_array() && std::all_of(part->begin(), part->end(), [](const Json& item) { return item.is_string() || item.is_number_integer(); });
    if (part->is_number() && part->get<double>() >= 0 && part->get<double>() <= 1) {
      sum += part->get<double>();
    } else if (names) {
      all_fractions = false;
    } else {
      faults.push_back(text("data.split.", name, ": is neither a fraction from 0 to 1 nor a list of patients"));
    }
  }
  constexpr double rounding = 1e-9;
  if (all_fractions && sum > 1 + rounding) {
    faults.push_back(text("data.split: train, val and test add up to ", sum, ", which is more than 1"));
  }
}

void check_optim(const std::string& section, const OptimConfig& optim, const Length& length, std::vector<std::string>& faults) {
  if (optim.betas.size() != 2) faults.push_back(section + ".betas: two numbers are needed, such as [0.9, 0.999]");
  for (const auto beta : optim.betas) {
    if (beta >= 1) faults.push_back(section + ".betas: each has to be below 1");
  }
  if (optim.ema_decay >= 1) faults.push_back(section + ".ema_decay: has to be below 1");
  if (optim.schedule.warmup.unit == Length::Unit::seconds) {
    faults.push_back(section + ".schedule.warmup: cannot be a time; write it in epochs (5ep) or steps (500st)");
  }
  if (length.unit == Length::Unit::seconds && optim.schedule.steps == 0 && optim.schedule.name != "constant") {
    faults.push_back(text(section, ".schedule.steps: train.length is a time, so the schedule needs its length in steps"));
  }
}

}  // namespace

void check_config(const RunConfig& config, std::vector<std::string>& faults) {
  check_split(config.data.split, faults);
  check_optim("optim", config.optim, config.train.length, faults);
  for (const auto& [name, optim] : config.objectives) check_optim("optim." + name, optim, config.train.length, faults);
  if (config.train.length.amount <= 0) faults.push_back("train.length: has to be more than 0");
  if (config.data.phantom_size.size() != 3) faults.push_back("data.phantom_size: three sizes are needed, one an axis");
  if (!config.data.transforms.is_null() && !config.data.transforms.is_array()) {
    faults.push_back("data.transforms: a list of steps is needed, such as [{Orientation: {axcodes: RAS}}]");
  }
  if (config.data.kind == "list" && config.data.list.empty()) faults.push_back("data.list: kind list needs a CSV or JSON file");
}

}  // namespace larmor

#include "larmor/config/checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/config/fold.h"
#include "larmor/config/stop_before.h"

namespace larmor {
namespace {

class Checker {
 public:
  Checker(const RunConfig& config, std::span<const Origin> origins, Problems& problems)
      : config_(config), origins_(origins), problems_(problems) {}

  void run_name() {
    const std::string& name = config_.run.name;
    const bool is_folder =
        !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
    if (!is_folder) refuse("run.name", text("has to be the name of one folder; got \"", name, "\""));
    if (name == "latest") refuse("run.name", "cannot be latest: that is the link to the newest run");
    if (config_.run.folder.empty()) refuse("run.folder", "is empty; . is the current folder");
  }

  void splits() {
    const SplitSection& split = config_.data.split;
    if (!config_.data.fold.empty() && !fold_from_text(config_.data.fold))
      refuse("data.fold",
             text("has to be a fold and their number, from 1/2 on, such as 2/5 for the second of five; got ",
                  config_.data.fold));
    double sum = 0;
    bool all_fractions = true;
    for (const auto& [name, part] :
         {std::pair{"train", &split.train}, {"val", &split.val}, {"test", &split.test}}) {
      const bool is_fraction = part->is_number() && part->get<double>() >= 0 && part->get<double>() <= 1;
      const auto is_name = [](const Json& item) { return item.is_string() || item.is_number_integer(); };
      const bool is_list = part->is_array() && std::all_of(part->begin(), part->end(), is_name);
      if (!is_fraction && !is_list) {
        refuse(text("data.split.", name),
               text("has to be a fraction from 0 to 1, or a list of patients; got ", part->dump()));
      }
      all_fractions = all_fractions && is_fraction;
      if (is_fraction) sum += part->get<double>();
    }
    constexpr double rounding = 1e-9;
    if (all_fractions && config_.data.fold.empty() && sum > 1 + rounding) {
      refuse("data.split.train",
             text("and data.split.val and data.split.test add up to ", sum, ", and 1 is all there is"));
    }
  }

  void missing() {
    if (config_.data.kind == "list" && config_.data.list.empty())
      refuse("data.list", "is needed for kind list: a CSV or JSON file");
  }

  void data() {
    const DataConfig& data = config_.data;
    if (!data.transforms.is_null() && !data.transforms.is_array()) {
      refuse("data.transforms", "has to be a list of steps, such as [{Orientation: {axcodes: RAS}}]");
    }
    for (const auto& [name, rate] :
         {std::pair{"data.cache_rate", data.cache_rate}, {"data.replace_rate", data.replace_rate}}) {
      if (rate <= 0) refuse(name, "has to be more than 0, or SmartCache would never show some cases");
    }
    if (data.phantom_size.size() != 3) {
      refuse("data.phantom_size", text("has to have 3 entries; got ", data.phantom_size.size()));
    }
  }

  void optimizer(const std::string& section, const OptimConfig& optim) {
    if (optim.betas.size() != 2 ||
        std::any_of(optim.betas.begin(), optim.betas.end(), [](double b) { return b >= 1; })) {
      refuse(section + ".betas", "has to be two numbers of at least 0 and below 1");
    }
    if (optim.ema_decay >= 1)
      refuse(section + ".ema_decay", text("has to be below 1; got ", optim.ema_decay));
    schedule(section + ".schedule", optim.schedule);
  }

  void length() {
    if (config_.train.length.amount <= 0) refuse("train.length", "has to be more than 0");
  }

  void modalities() {
    const Json& named = config_.data.modalities;
    const auto is_text = [](const Json& value) { return value.is_string(); };
    bool is_map = named.is_null() || named.is_object();
    for (const auto& [name, ends] : named.items())
      is_map = is_map && ends.is_array() && std::all_of(ends.begin(), ends.end(), is_text);
    if (!is_map) refuse("data.modalities", "has to be a mapping of names to lists of ends: {t1n: [t1, t1n]}");
  }

  void validation() {
    if (config_.train.validate_with != "average") return;
    const auto has_average = [](const OptimConfig& optim) { return optim.ema_decay > 0; };
    bool is_kept = has_average(config_.optim);
    for (const auto& [objective, optim] : config_.objectives) is_kept = is_kept || has_average(optim);
    if (!is_kept) refuse("train.validate_with", "is average, and none is kept: set optim.ema_decay");
  }

  void beginning() {
    if (config_.from.at("optimizer") == "true" && config_.from.at("run").empty())
      refuse("from.optimizer", "is true, and from.run names no run");
  }

  void end() {
    try {
      parse_stop_before(config_.train.stop_before);
    } catch (const Error& error) {
      refuse("train.stop_before", text("is not understood: ", error.message(), "; ", error.hint()));
    }
  }

 private:
  void schedule(const std::string& section, const ScheduleConfig& schedule) {
    const Length& length = config_.train.length;
    const Length& warmup = schedule.warmup;
    if (warmup.unit == Length::Unit::seconds) {
      refuse(section + ".warmup", text("has to be in epochs (5ep) or steps (500st); got ", to_text(warmup)));
      return;
    }
    if (schedule.name == "cosine_warm_restarts" && schedule.first_period <= 0)
      refuse(section + ".first_period", "has to be more than 0, or the cosine would restart for ever");
    if (schedule.name == "multistep") milestones(section, schedule);
    if (schedule.name == "plateau" && config_.train.validate_every.amount <= 0)
      refuse(section + ".name", "is plateau, which goes by validations, and train.validate_every is 0");
    if (schedule.name == "onecycle" && schedule.peak <= 0)
      refuse(section + ".peak", "has to be more than 0, or the cycle would have no top to rise to");
    if (!schedule.has_end() || schedule.name == "onecycle") return;  // and so has no warm-up, or no end
    const Length whole =
        schedule.steps > 0 ? Length{static_cast<double>(schedule.steps), Length::Unit::steps} : length;
    if (warmup.unit == whole.unit && warmup.amount > 0 && warmup.amount >= whole.amount) {
      refuse(section + ".warmup",
             text("(", to_text(warmup), ") leaves nothing of the schedule, which spans ", to_text(whole)));
    }
  }

  void milestones(const std::string& section, const ScheduleConfig& schedule) {
    if (schedule.milestones.empty())
      refuse(section + ".milestones",
             "is needed for multistep: say when the rate falls, such as [30ep, 60ep]");
    std::optional<Length> before;
    for (const std::string& written : schedule.milestones) {
      try {
        const Length milestone = parse_length(written);
        if (milestone.unit == Length::Unit::seconds)
          refuse(section + ".milestones",
                 text("have to be in epochs (30ep) or steps (500st); got ", written));
        if (before && before->unit == milestone.unit && before->amount >= milestone.amount)
          refuse(section + ".milestones",
                 text("have to come one after the other; got ", written, " behind ", to_text(*before)));
        before = milestone;
      } catch (const Error& error) {
        refuse(section + ".milestones", text("are not understood: ", error.message(), "; ", error.hint()));
      }
    }
  }

  void refuse(const std::string& key, std::string what) {
    const auto origin =
        std::find_if(origins_.begin(), origins_.end(), [&](const Origin& one) { return one.key == key; });
    // What an objective took over from `optim` is told there once.
    if (origin != origins_.end() && origin->is_inherited()) return;
    problems_.push_back({key, origin == origins_.end() ? "" : origin->origin, std::move(what)});
  }

  const RunConfig& config_;
  std::span<const Origin> origins_;
  Problems& problems_;
};

}  // namespace

void check_together(const RunConfig& config, std::span<const Origin> origins, bool is_draft,
                    Problems& problems) {
  Checker checker(config, origins, problems);
  checker.run_name();
  checker.splits();
  if (!is_draft) checker.missing();
  checker.data();
  checker.length();
  checker.modalities();
  checker.beginning();
  checker.end();
  checker.validation();
  checker.optimizer("optim", config.optim);
  for (const auto& [objective, optim] : config.objectives) checker.optimizer("optim." + objective, optim);
}

}  // namespace larmor

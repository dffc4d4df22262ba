// What a new run meets only after its first interval, tried before its first step: validation, its pictures,
// the name of its metric, and what a save has to bring together. Nothing of it is kept.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/data/dataset_around.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/judge/validation.h"
#include "larmor/task/networks.h"
#include "larmor/train/snapshot.h"
#include "larmor/train/trainer.h"

namespace larmor {

namespace {

/// Of those that a rank tries: names that only some cases give are looked for a little longer.
constexpr int64_t most_cases = 8;

/// Some examples of a dataset that follow one another. Borrows.
class CasesFrom final : public ExamplesOf {
 public:
  CasesFrom(const Dataset& all, int64_t first, int64_t count)
      : ExamplesOf(all), first_(first), count_(std::min(count, all.size() - first)) {}
  int64_t size() const override { return count_; }

 private:
  int64_t source_of(int64_t example) const override { return first_ + example; }

  const int64_t first_, count_;
};

/// "val/auc" of "val/auc@1y": where few cases define no part, its name is not to be had.
std::string without_part(const std::string& name) { return name.substr(0, name.find('@')); }

[[noreturn]] void refuse_metric(const std::string& wanted, const std::set<std::string>& known) {
  const std::vector<std::string> names(known.begin(), known.end());
  const auto near = nearest(wanted, names);
  fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "set it to one of ", join(names, ", "),
            "; where only some cases give it, start with --no-check"));
}

}  // namespace

std::set<std::string> Trainer::names_given(const Dataset& cases) {
  std::optional<CasesFrom> reference;
  if (parts_.reference_cases != nullptr) reference.emplace(*parts_.reference_cases, 0, most_cases);
  std::set<std::string> names;
  try {
    const auto result = validate(parts_.task, cases, parts_.communicator,
                                 {.device = parts_.device,
                                  .precision = plan_.precision,
                                  .layout = plan_.layout,
                                  .seed = static_cast<uint64_t>(parts_.config.run.seed),
                                  .pictures = true,
                                  .reference = reference ? &*reference : nullptr,
                                  .feed = &feed_,
                                  .after_case = [this] { parts_.board.beat(rank()); },
                                  .stop_asked = parts_.stop_asked});
    for (const auto& [name, metric] : result.metrics) names.insert("val/" + name);
  } catch (const Error& error) {
    // Cases that cannot be used are left out and counted by the validations of the run.
    if (error.exit() != Exit::data && error.exit() != Exit::stopped) throw;
  }
  return names;
}

void Trainer::try_out() {
  const auto& cases = parts_.validation_cases;
  if (cases.size() == 0) return;
  const auto wanted = without_part(parts_.config.checkpoint.metric);
  PartWriter before;
  parts_.task.save(before);
  std::set<std::string> known;
  {
    const auto averaged = averaged_weights();
    const auto whole = whole_networks();
    const int64_t ranks = parts_.communicator.size();
    for (int64_t tried = 0; tried < most_cases && tried * ranks < cases.size(); ++tried) {
      known.merge(names_given(CasesFrom(cases, tried * ranks, ranks)));
      if (known.contains(wanted)) break;
    }
  }
  // What validation has measured is of a few cases.
  parts_.task.load(PartReader(std::move(before.tensors), std::move(before.values), "the run's beginning"),
                   /*of_average=*/false);
  if (!known.empty() && !known.contains(wanted) && parts_.stop_asked().empty()) refuse_metric(wanted, known);
  take_snapshot(parts_.task, parts_.learners, state_, rank());
  release_cached_memory(parts_.device);
}

}  // namespace larmor

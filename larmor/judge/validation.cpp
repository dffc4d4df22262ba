#include "larmor/judge/validation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <iterator>
#include <set>
#include <string_view>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/layout.h"
#include "larmor/judge/batch_feed.h"
#include "larmor/judge/bootstrap.h"
#include "larmor/judge/case_loop.h"
#include "larmor/judge/case_value_bytes.h"
#include "larmor/judge/collected.h"
#include "larmor/judge/roc_chart.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"

namespace larmor {

namespace {

/// A line that says what it is, and the values as they lie in memory.
std::string pack(const Collected& collected, const Failure& failure) {
  Json head;
  std::string values;
  append_values(values, head["values"] = Json::array(), collected.values);
  append_values(values, head["notes"] = Json::array(), collected.notes);
  head["bad"] = Json::array();
  for (const auto& [example, file] : collected.bad)
    head["bad"].push_back({example, to_json(std::vector{file})});
  head["failure"] = failure.json();
  return json_line(head) + "\n" + values;
}

/// What all ranks have collected, in the order of the examples.
struct Gathered {
  CaseValues values, notes;
  std::vector<BadFile> bad;

  /// For Task::summarize().
  CaseValues all() const {
    CaseValues both = values;
    both.insert(notes.begin(), notes.end());
    return both;
  }

  /// Those of which anything was recorded.
  std::vector<int64_t> examples() const {
    std::set<int64_t> all;
    for (const auto* const recorded : {&values, &notes}) {
      for (const auto& [name, per_case] : *recorded) {
        for (const auto& [example, value] : per_case) all.insert(example);
      }
    }
    return {all.begin(), all.end()};
  }

  Gathered of(const CaseGroup& group) const {
    return {.values = values_of_group(values, group), .notes = values_of_group(notes, group), .bad = {}};
  }
};

Gathered gather(Communicator& communicator, const Collected& collected, const Failure& failure) {
  Gathered gathered;
  std::vector<Json> failures;
  std::map<int64_t, BadFile> bad;
  for (const auto& bytes : all_gather_bytes(communicator, pack(collected, failure))) {
    const auto end = bytes.find('\n');
    const auto head = parse_json(bytes.substr(0, end), "a rank's values");
    auto values = std::string_view(bytes).substr(end + 1);
    take_values(values, head.at("values"), gathered.values);
    take_values(values, head.at("notes"), gathered.notes);
    for (const auto& entry : head.at("bad"))
      bad.emplace(entry[0].get<int64_t>(), bad_files_from(entry[1]).at(0));
    failures.push_back(head.at("failure"));
  }
  throw_failures(failure, failures);
  for (auto& [example, file] : bad) gathered.bad.push_back(std::move(file));
  for (auto* const values : {&gathered.values, &gathered.notes}) {
    for (auto& [name, per_case] : *values) std::sort(per_case.begin(), per_case.end());
  }
  return gathered;
}

/// A NaN never stands alone, whatever the task says of it.
std::string why_undefined(const SplitMetric& figure, const MetricResult& metric) {
  if (!std::isnan(figure.value) || !figure.undefined.empty()) return figure.undefined;
  const auto are_none =
      std::ranges::count_if(metric.per_case, [](const auto& of_case) { return std::isnan(of_case.second); });
  if (are_none == 0) return "these cases do not define it";
  return text("it is no number for ", are_none, " of ", metric.per_case.size(),
              metric.per_case.size() == 1 ? " case" : " cases");
}

ValidationResult result_of(const Gathered& gathered, const Task& task, Collected& summary) {
  ValidationResult result{.metrics = {},
                          .pictures = summary.drawn_pictures(),
                          .remarks = summary.remarks,
                          .verdicts = {},
                          .bad = gathered.bad,
                          .patients = count_patients(summary, gathered.all())};
  for (const auto& [name, per_case] : gathered.values) {
    result.metrics[name].per_case = per_case;
    if (!summary.figures.contains(name)) summary.figures[name] = mean_over_cases(summary, per_case);
  }
  for (const auto& [name, figure] : summary.figures) {
    auto& metric = result.metrics[name];
    metric.mean = figure.value;
    metric.interval = figure.interval;
    if (summary.depth() == ValidationDepth::full) metric.no_interval = figure.no_interval;
    metric.parts_by = figure.parts_by;
    metric.parts = figure.parts;
    metric.undefined = why_undefined(figure, metric);
    metric.undefined_parts = figure.undefined_parts;
    metric.draws = figure.draws;
  }
  result.verdicts = verdicts_of(task.figures(), summary.figures);
  return result;
}

/// The cases of a rank on their way through the task.
class SplitJudgement final : public CaseWork {
 public:
  SplitJudgement(Task& task, const Dataset& dataset, const ValidationOptions& options, BatchFeed& feed,
                 Collected& collected)
      : task_(task), dataset_(dataset), options_(options), feed_(feed), collected_(collected) {}

  /// What has ended them before their time, if anything has.
  Failure run(const Communicator& communicator) {
    ranks_ = communicator.size();
    std::vector<int64_t> numbers;
    for (int64_t i = communicator.rank(); i < dataset_.size(); i += ranks_) numbers.push_back(i);
    try {
      const StoppableWork here(options_.stop_asked);
      show(/*part=*/0);
      loop_.run(numbers);
      throw_if_asked(options_.stop_asked);
    } catch (const Error& error) {
      if (!loop_.at()) return {std::current_exception(), {}};
      return {std::make_exception_ptr(error.within(text("while validating ", dataset_.name(*loop_.at())))),
              {}};
    } catch (...) {
      return {std::current_exception(), loop_.at() ? dataset_.name(*loop_.at()) : "the split"};
    }
    return {};
  }

 private:
  std::string name(int64_t example) const override { return dataset_.name(example); }

  ReadCase read(int64_t example) const override {
    // Validation draws, where it draws at all, the same for a case every time: epoch 0.
    const ExampleKey key{.seed = options_.seed, .epoch = 0, .example = example};
    ReadCase one{.number = example, .batch = collate({dataset_.get(key)}, {key})};
    if (options_.device.is_cpu()) return one;
    for (auto& [name, tensor] : one.batch.tensors) tensor = tensor.pin_memory();
    return one;
  }

  // A case counts as a whole or, where the task refuses it, not at all.
  void compute(const ReadCase& one, const FitsInOnePass& fits) override {
    Collected own = collected_.anew(
        options_.progress ? [this](double part) { show(part); } : std::function<void(double)>(), fits);
    const Batch batch = feed_.take(one.batch);
    // Tasks wait for what they find of a case, so that the next one is on its way before, or not beside it.
    const ReadCase* const next = options_.batch == 1 ? loop_.upcoming() : nullptr;
    if (next != nullptr) feed_.copy_ahead(next->batch);
    const DrawScope draws(draw_position_of(batch));
    const AutocastScope autocast(options_.device.type(), options_.precision);
    const LayoutScope layout(options_.layout);
    task_.validate(batch, own);
    collected_.take(std::move(own));
    end_cases(batch.size());
  }

  void leave_out(int64_t example, const Error& error) override {
    if (error.exit() != Exit::data) throw error;  // figures without it would be of another split
    collected_.bad.emplace_back(example, bad_file_of(dataset_, example, error));
    end_cases(1);
  }

  void end_cases(int64_t count) {
    done_ += count;
    show(/*part=*/0);
  }

  void show(double part) const {
    if (!options_.progress) return;
    const auto all = dataset_.size(), done = std::min(all, done_ * ranks_);
    options_.progress({.what = collected_.of_reference() ? "looked at training cases:" : "validated",
                       .unit = "cases",
                       .done = done,
                       .all = all,
                       .part = done < all ? part : 0});
  }

  Task& task_;
  const Dataset& dataset_;
  const ValidationOptions& options_;
  BatchFeed& feed_;
  Collected& collected_;
  int64_t ranks_ = 1, done_ = 0;
  /// On a CPU, where it gains nothing, a case is computed alone: sums over a batch would be ordered by its
  /// size. On a GPU one more is read, to be ready when this one has just been taken: it is copied meanwhile.
  CaseLoop loop_{*this,
                 {.device = options_.device,
                  .ahead = options_.workers + (options_.workers > 0 && !options_.device.is_cpu() ? 1 : 0),
                  .at_once = options_.device.is_cpu() ? 1 : options_.batch}};
};

CaseValues values_of_reference(Task& task, Communicator& communicator, const ValidationOptions& options,
                               BatchFeed& feed) {
  if (options.reference == nullptr) return {};
  const bool stays = options.reference_values != nullptr && task.reference_stays();
  if (stays && options.reference_values->has_value()) return **options.reference_values;
  Collected of_reference({.stop_asked = options.stop_asked, .depth = options.depth, .of_reference = true},
                         *options.reference, communicator);
  const auto failure =
      SplitJudgement(task, *options.reference, options, feed, of_reference).run(communicator);
  CaseValues values = gather(communicator, of_reference, failure).all();
  if (stays) *options.reference_values = values;
  return values;
}

}  // namespace

std::string missing_message(const MetricResult& metric) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const auto& [part, reason] : metric.undefined_parts) by_reason[reason].push_back(part);
  std::vector<std::string> reasons;
  for (const auto& [reason, parts] : by_reason) reasons.push_back(text(join(parts, ", "), ": ", reason));
  return join(reasons, "; ");
}

ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options) {
  const EvaluationMode evaluation(task);
  const torch::NoGradGuard no_grad;
  std::optional<BatchFeed> own_feed;
  BatchFeed& feed =
      options.feed != nullptr ? *options.feed : own_feed.emplace(options.device, options.precision);
  const CaseValues reference = values_of_reference(task, communicator, options, feed);
  Collected collected({.stop_asked = options.stop_asked,
                       .depth = options.depth,
                       .pictures = options.pictures && communicator.is_first(),
                       .reference = options.reference,
                       .seed = options.seed,
                       .reference_values = &reference},
                      dataset, communicator);
  const auto failure = SplitJudgement(task, dataset, options, feed, collected).run(communicator);
  const auto gathered = gather(communicator, collected, failure);
  if (static_cast<int64_t>(gathered.bad.size()) == dataset.size()) {
    fail(Exit::data,
         text("none of the ", dataset.size(), " cases to validate on can be used:", listing(gathered.bad)),
         "look at one of them with larmor inspect FILE");
  }
  feed.clear();
  task.summarize(gathered.all(), reference, collected);
  auto result = result_of(gathered, task, collected);
  if (options.columns) result.columns = task.case_columns(gathered.all());
  const bool draws = collected.wants_pictures() && options.depth == ValidationDepth::full;
  if (options.columns || draws) result.scores = task.scores(gathered.all());
  if (draws) std::ranges::move(roc_charts(result.scores), std::back_inserter(result.pictures));
  if (options.groups) {
    const auto judge_part = [&](const CaseGroup& group) {
      const auto part = gathered.of(group);
      Collected of_group({options.stop_asked, options.depth, /*pictures=*/false}, dataset, communicator);
      task.summarize(part.all(), reference, of_group);
      return result_of(part, task, of_group);
    };
    for (auto& group : options.groups(task.case_columns(gathered.all()), gathered.examples())) {
      result.groups.push_back(judge_part(group));
      result.groups.back().of = std::move(group);
    }
  }
  return result;
}

}  // namespace larmor

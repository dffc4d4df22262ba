#include "larmor/train/validation.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <ranges>
#include <string_view>

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/module.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/layout.h"
#include "larmor/device/out_of_memory.h"
#include "larmor/train/batch_device.h"
#include "larmor/train/batch_feed.h"
#include "larmor/train/bootstrap.h"
#include "larmor/train/networks.h"
#include "larmor/train/shown_cases.h"
#include "larmor/train/split_reader.h"

namespace larmor {

namespace {

class Collected final : public ShownCases {
 public:
  struct Wants {
    const StopAsked& stop_asked;
    ValidationDepth depth = ValidationDepth::quick;
    bool pictures = false, of_reference = false;
  };
  Collected(const Wants& wants, const Dataset& dataset, Communicator& communicator)
      : ShownCases(dataset, communicator.size()),
        wants_(wants),
        dataset_(dataset),
        communicator_(communicator) {}
  /// For a part of the same cases.
  Collected anew() const { return {wants_, dataset_, communicator_}; }
  void value(const std::string& name, int64_t example, double value) override {
    values[name].emplace_back(example, value);
  }
  void note(const std::string& name, int64_t example, double value) override {
    notes[name].emplace_back(example, value);
  }
  void figure(const std::string& name, const SplitMetric& figure) override { figures[name] = figure; }
  void remark(const std::string& sentence) override { remarks.push_back(sentence); }
  bool wants_pictures() const override { return wants_.pictures; }
  ValidationDepth depth() const override { return wants_.depth; }
  bool of_reference() const override { return wants_.of_reference; }
  std::vector<double> shared_out(int64_t count, const std::function<double(int64_t)>& work) override;

  /// What another one has collected.
  void take(Collected&& more) {
    const auto append = [](CaseValues& own, const CaseValues& others) {
      for (const auto& [name, per_case] : others)
        own[name].insert(own[name].end(), per_case.begin(), per_case.end());
    };
    append(values, more.values);
    append(notes, more.notes);
    take_pictures(more);
  }

  CaseValues values, notes;
  std::map<std::string, SplitMetric> figures;
  std::vector<std::string> remarks;
  std::vector<std::pair<int64_t, BadFile>> bad;  // by example

 private:
  Wants wants_;
  const Dataset& dataset_;
  Communicator& communicator_;
};

/// What ended a rank's cases: it has to take part in what comes, or the others would wait for it.
struct Failure {
  std::exception_ptr exception;
  std::string name;  // of the case

  Json json() const {
    if (!exception) return nullptr;
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      return {static_cast<int>(error.exit()), error.message()};
    } catch (const std::exception& error) {
      const bool no_memory = is_out_of_memory(exception);
      return {static_cast<int>(no_memory ? Exit::memory : Exit::unexpected),
              text("while validating ", name, ": ",
                   no_memory ? describe_out_of_memory(exception) : error.what())};
    }
  }
};

template <class Number>
void append_numbers(std::string& bytes, const std::vector<Number>& numbers) {
  bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number));
}

/// Examples and values, each name's one after the other; how many they are stands in `counts`.
void append_values(std::string& bytes, Json& counts, const CaseValues& all) {
  for (const auto& [name, values] : all) {
    counts.push_back({name, values.size()});
    const auto examples = std::views::keys(values);
    const auto numbers = std::views::values(values);
    append_numbers(bytes, std::vector<int64_t>(examples.begin(), examples.end()));
    append_numbers(bytes, std::vector<double>(numbers.begin(), numbers.end()));
  }
}

template <class Number>
std::vector<Number> take_numbers(std::string_view& bytes, std::size_t count) {
  std::vector<Number> numbers(count);
  ensure(bytes.size() >= count * sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), count * sizeof(Number));
  bytes.remove_prefix(count * sizeof(Number));
  return numbers;
}

void take_values(std::string_view& bytes, const Json& counts, CaseValues& all) {
  for (const auto& entry : counts) {
    const auto count = entry[1].get<std::size_t>();
    const auto examples = take_numbers<int64_t>(bytes, count);
    const auto numbers = take_numbers<double>(bytes, count);
    auto& values = all[entry[0].get<std::string>()];
    for (std::size_t i = 0; i < count; ++i) values.emplace_back(examples[i], numbers[i]);
  }
}

std::string line_of(const Json& json) {
  // The reasons quote files, which may hold anything.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

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
  return line_of(head) + "\n" + values;
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
};

// A failure of one rank is one of all.
void throw_failures(const Failure& own, const std::vector<Json>& of_ranks) {
  if (own.exception) std::rethrow_exception(own.exception);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].is_null()) continue;
    fail(static_cast<Exit>(of_ranks[rank][0].get<int>()),
         text("the validation failed on rank ", rank, ": ", of_ranks[rank][1].get<std::string>()),
         "see that rank's log in the run folder");
  }
}

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

std::vector<double> Collected::shared_out(int64_t count, const std::function<double(int64_t)>& work) {
  const auto results = at::zeros({count}, at::kDouble);
  auto* const numbers = results.mutable_data_ptr<double>();
  Failure failure{.exception = {}, .name = "the split as a whole"};
  try {
    const StoppableWork here(wants_.stop_asked);
    for (int64_t i = communicator_.rank(); i < count; i += communicator_.size()) {
      numbers[i] = work(i);
      send_heartbeat();
    }
  } catch (...) {
    failure.exception = std::current_exception();
  }
  std::vector<Json> failures;
  for (const auto& words : all_gather_bytes(communicator_, line_of(failure.json())))
    failures.push_back(parse_json(words, "a rank's failure"));
  throw_failures(failure, failures);
  const auto met = results.to(communicator_.device());
  communicator_.all_reduce(met, Reduce::sum).wait();
  const auto all = met.cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + count};
}

ValidationResult result_of(const Gathered& gathered, Collected& summary) {
  const auto patients = count_patients(summary, gathered.all());
  ValidationResult result{{}, summary.drawn_pictures(), summary.remarks, gathered.bad, patients};
  for (const auto& [name, per_case] : gathered.values) {
    result.metrics[name].per_case = per_case;
    if (!summary.figures.contains(name)) summary.figures[name] = mean_over_cases(summary, per_case);
  }
  for (const auto& [name, figure] : summary.figures) {
    auto& metric = result.metrics[name];
    metric.mean = figure.value;
    metric.interval = figure.interval;
    metric.no_interval = figure.no_interval;
    metric.parts_by = figure.parts_by;
    metric.parts = figure.parts;
  }
  return result;
}

/// The cases of a rank on their way through the task.
class CaseRunner {
 public:
  CaseRunner(Task& task, const Dataset& dataset, const Communicator& communicator,
             const ValidationOptions& options, BatchFeed& feed, Collected& collected)
      : task_(task),
        dataset_(dataset),
        options_(options),
        feed_(feed),
        collected_(collected),
        reader_(dataset, {.seed = options.seed,
                          .rank = communicator.rank(),
                          .ranks = communicator.size(),
                          .workers = options.workers,
                          .pinned = !options.device.is_cpu()}) {}

  /// What has ended them before their time, if anything has.
  Failure run() {
    try {
      const StoppableWork here(options_.stop_asked);
      while (auto read = next()) take(std::move(*read));
      run_waiting();
      throw_if_asked(options_.stop_asked);
    } catch (...) {
      const auto at_fault = failed_ >= 0 ? failed_ : reader_.example();
      return {std::current_exception(), dataset_.name(at_fault)};
    }
    return {};
  }

 private:
  std::optional<SplitReader::Read> next() {
    try {
      return reader_.next();
    } catch (const Error& error) {
      throw error.within(text("while validating ", dataset_.name(reader_.example())));
    }
  }

  void take(SplitReader::Read read) {
    if (read.bad) {
      collected_.bad.emplace_back(read.key.example, std::move(*read.bad));
      options_.after_case();
      return;
    }
    if (!waiting_.empty() && !are_alike(waiting_.front(), read.batch)) run_waiting();
    waiting_.push_back(std::move(read.batch));
    if (std::ssize(waiting_) >= at_once()) run_waiting();
  }

  /// Sums over a batch would be ordered by its size: on a CPU, where it gains nothing, a case is computed
  /// alone.
  int64_t at_once() const { return options_.device.is_cpu() ? 1 : options_.batch; }

  static bool are_alike(const Batch& one, const Batch& other) {
    return std::ranges::equal(one.tensors, other.tensors, [](const auto& left, const auto& right) {
      return left.first == right.first && left.second.sizes() == right.second.sizes();
    });
  }

  void run_waiting() {
    const auto cases = std::exchange(waiting_, {});
    if (cases.empty()) return;
    if (cases.size() == 1 || !try_together(cases)) {
      for (const auto& one : cases) run_alone(one);
    }
    for (std::size_t i = 0; i < cases.size(); ++i) options_.after_case();
  }

  void run_task(const Batch& cases, Metrics& metrics) {
    const Batch batch = feed_.take(cases);
    // Tasks wait for what they find of a case, so that the next one is on its way before, or not beside it.
    const Batch* const next = at_once() == 1 ? reader_.upcoming() : nullptr;
    if (next != nullptr) feed_.copy_ahead(*next);
    const DrawScope draws(draw_position_of(batch));
    const AutocastScope autocast(options_.device.type(), options_.precision);
    const LayoutScope layout(options_.layout);
    task_.validate(batch, metrics);
  }

  /// False where some case is of no use: then each is tried by itself.
  bool try_together(const std::vector<Batch>& cases) {
    Batch all;
    for (const auto& one : cases) all.keys.push_back(one.keys.front());
    for (const auto& [name, tensor] : cases.front().tensors) {
      std::vector<at::Tensor> rows;
      for (const auto& one : cases) rows.push_back(one.at(name));
      all.tensors.emplace(name, at::cat(rows));
    }
    Collected own = collected_.anew();
    try {
      run_task(all, own);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      return false;
    }
    collected_.take(std::move(own));
    return true;
  }

  // A case counts as a whole or, where the task refuses it, not at all.
  void run_alone(const Batch& one) {
    const auto example = one.keys.front().example;
    Collected own = collected_.anew();
    failed_ = example;
    try {
      run_task(one, own);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw error.within(text("while validating ", dataset_.name(example)));
      collected_.bad.emplace_back(example, bad_file_of(dataset_, example, error));
      failed_ = -1;
      return;
    }
    failed_ = -1;
    collected_.take(std::move(own));
  }

  Task& task_;
  const Dataset& dataset_;
  const ValidationOptions& options_;
  BatchFeed& feed_;
  Collected& collected_;
  SplitReader reader_;
  std::vector<Batch> waiting_;
  int64_t failed_ = -1;  // the case at fault, where the task has failed with it
};

}  // namespace

ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options) {
  const EvaluationMode evaluation(task);
  const torch::NoGradGuard no_grad;
  std::optional<BatchFeed> own_feed;
  BatchFeed& feed =
      options.feed != nullptr ? *options.feed : own_feed.emplace(options.device, options.precision);
  Collected collected({options.stop_asked, options.depth, options.pictures && communicator.is_first()},
                      dataset, communicator);
  const auto failure = CaseRunner(task, dataset, communicator, options, feed, collected).run();
  const auto gathered = gather(communicator, collected, failure);
  if (static_cast<int64_t>(gathered.bad.size()) == dataset.size()) {
    fail(Exit::data,
         text("none of the ", dataset.size(), " cases to validate on can be used:", listing(gathered.bad)),
         "look at one of them with larmor inspect FILE");
  }
  CaseValues reference;
  if (const Dataset* const training = options.reference) {
    Collected of_reference({.stop_asked = options.stop_asked, .depth = options.depth, .of_reference = true},
                           *training, communicator);
    const auto of_cases = CaseRunner(task, *training, communicator, options, feed, of_reference).run();
    reference = gather(communicator, of_reference, of_cases).all();
  }
  feed.clear();
  task.summarize(gathered.all(), reference, collected);
  return result_of(gathered, collected);
}

}  // namespace larmor

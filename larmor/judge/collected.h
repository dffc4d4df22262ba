// What a rank gathers of a validation, and how a failure of one rank becomes one of all.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/comm/communicator.h"
#include "larmor/data/dataset.h"
#include "larmor/judge/case_loop.h"
#include "larmor/judge/shown_cases.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/task/metrics.h"

namespace larmor {

/// Borrows the dataset and the communicator.
class Collected final : public ShownCases {
 public:
  struct Wants {
    const StopAsked& stop_asked;
    ValidationDepth depth = ValidationDepth::quick;
    bool pictures = false, of_reference = false;
    const Dataset* reference = nullptr;            // for reference_case(); borrowed
    uint64_t seed = 0;                             // that it is read by
    const CaseValues* reference_values = nullptr;  // borrowed
  };
  Collected(const Wants& wants, const Dataset& dataset, Communicator& communicator)
      : ShownCases(dataset, communicator.size()), wants_(wants), communicator_(communicator) {}
  /// The results for a part of the same cases. `shows` takes how far a case is, and may be empty; `fits` is
  /// borrowed.
  Collected anew(std::function<void(double)> shows, const FitsInOnePass& fits) const {
    return {*this, std::move(shows), fits};
  }
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
  const CaseValues& reference() const override {
    return wants_.reference_values != nullptr ? *wants_.reference_values : ShownCases::reference();
  }
  std::function<void(double)> progress() const override { return shows_; }
  bool fits_in_one_pass(double examples) const override { return fits_ == nullptr || (*fits_)(examples); }
  std::optional<ReferenceCase> reference_case(int64_t example) const override;
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
  Collected(const Collected& like, std::function<void(double)> shows, const FitsInOnePass& fits)
      : ShownCases(like, SameCases()),
        wants_(like.wants_),
        communicator_(like.communicator_),
        shows_(std::move(shows)),
        fits_(&fits) {}

  Wants wants_;
  Communicator& communicator_;
  std::function<void(double)> shows_ = {};
  const FitsInOnePass* fits_ = nullptr;
};

/// What ended a rank's cases: it has to take part in what comes, or the others would wait for it.
struct Failure {
  std::exception_ptr exception;
  std::string name;  // of the case

  /// Null where nothing has.
  Json json() const;
};

/// JSON in one line, whatever bytes the reasons quote.
std::string json_line(const Json& json);
/// Throws this rank's own failure, or what the others have failed with.
void throw_failures(const Failure& own, const std::vector<Json>& of_ranks);

}  // namespace larmor

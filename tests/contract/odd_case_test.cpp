// A case that the task cannot take is a bad file with a name: for every workload, on any number of ranks, in
// training and in validation; and whatever ends a validation costs none of what was trained.
#include <functional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/data/dataset_around.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// Which cases are odd, and for whom.
struct Odd {
  std::set<std::string> for_task;     // losses and validate() refuse them
  std::set<std::string> for_dataset;  // cannot be read
  Exit exit = Exit::data;
};

/// Who an example is, for a task that knows numbers alone.
using Names = std::map<int64_t, std::string>;

Names names_of(const Dataset& cases) {
  Names names;
  for (int64_t example = 0; example < cases.size(); ++example) names[example] = cases.name(example);
  return names;
}

class OddLoss final : public WholeBatchLoss {
 public:
  OddLoss(WholeBatchLoss& inner, std::function<void(const Batch&)> refuse)
      : inner_(inner), refuse_(std::move(refuse)) {}
  at::Tensor rows(const Batch& batch, const StepContext& context) override {
    refuse_(batch);
    return inner_.rows(batch, context);
  }
  at::Tensor targets(const Batch& batch) override { return inner_.targets(batch); }
  at::Tensor loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext& context) override {
    return inner_.loss(rows, targets, context);
  }

 private:
  WholeBatchLoss& inner_;
  std::function<void(const Batch&)> refuse_;
};

class OddTask final : public ForwardingTask {
 public:
  OddTask(std::unique_ptr<Task> inner, const Odd& odd, Names training, Names validation)
      : ForwardingTask(std::move(inner)),
        odd_(odd),
        training_(std::move(training)),
        validation_(std::move(validation)) {
    if (auto* const whole = ForwardingTask::whole_batch_loss())
      whole_.emplace(*whole, [this](const Batch& batch) { refuse(batch, training_); });
  }

  void prepare(const EachBatch& first, const StepContext& context) override {
    ForwardingTask::prepare(
        [&](const std::function<void(const Batch&)>& use) {
          first([&](const Batch& batch) {
            refuse(batch, training_);
            use(batch);
          });
        },
        context);
  }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    refuse(batch, training_);
    return ForwardingTask::losses(batch, context);
  }
  WholeBatchLoss* whole_batch_loss() override { return whole_ ? &*whole_ : nullptr; }
  void validate(const Batch& batch, Metrics& metrics) override {
    ForwardingTask::validate(batch, metrics);  // what it has recorded must not count
    refuse(batch, validation_);
  }

 private:
  void refuse(const Batch& batch, const Names& names) const {
    for (const auto& key : batch.keys) {
      if (odd_.for_task.contains(names.at(key.example))) fail(odd_.exit, "has a shape that nobody expected");
    }
  }

  const Odd& odd_;
  const Names training_, validation_;
  std::optional<OddLoss> whole_;
};

class OddCases final : public DatasetAround {
 public:
  OddCases(std::unique_ptr<Dataset> inner, const Odd& odd) : DatasetAround(std::move(inner)), odd_(odd) {}
  Sample get(const ExampleKey& key) const override {
    if (odd_.for_dataset.contains(name(key.example))) fail(Exit::data, "has a shape that nobody expected");
    return DatasetAround::get(key);
  }

 private:
  const Odd& odd_;
};

class OddStage final : public ForwardingStage {
 public:
  OddStage(std::unique_ptr<const Stage> inner, const Odd& odd)
      : ForwardingStage(std::move(inner)), odd_(odd) {}

  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override {
    return std::make_unique<OddCases>(ForwardingStage::dataset(config, index, split), odd_);
  }
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<OddTask>(ForwardingStage::task(config, index), odd_,
                                     names_of(*ForwardingStage::dataset(config, index, Split::train)),
                                     names_of(*ForwardingStage::dataset(config, index, Split::val)));
  }

 private:
  const Odd& odd_;
};

// With eps of usual size Adam turns the rounding of gradients that are zero into steps (equality_test.cpp).
const std::vector<std::string> six_steps{
    "train.length=6st",     "train.validate_every=3st",     "checkpoint.every=6st",
    "train.global_batch=4", "train.accumulation=1",         "train.precision=fp64",
    "optim.weight_decay=0", "optim.schedule.name=constant", "optim.schedule.warmup=0",
    "data.bad_files=3",     "track.pictures_every=0",       "optim.eps=1e-4"};

/// Two of training and one of validation, by name: the same whenever they are asked for.
const std::set<std::string>& some_cases(const StageName& stage) {
  static std::map<StageName, std::set<std::string>> known;
  auto& names = known[stage];
  if (!names.empty()) return names;
  TrialRun run(stage, with_others(six_steps, {"train.length=1st", "train.validate_every=0"}));
  run.train(1);
  const auto index = index_from_json(read_json(run.folder().index()));
  const auto name = [&](Split split, size_t place) {
    return index.cases[static_cast<size_t>(index.of(split)[place])].name();
  };
  names = {name(Split::train, 1), name(Split::train, 5), name(Split::val, 2)};
  return names;
}

struct Outcome {
  std::map<std::string, NamedTensors> weights;
  std::set<std::string> quarantined;
};

Outcome train(const StageName& stage, const Odd& odd, int ranks, const std::vector<std::string>& more) {
  TrialRun run(stage, with_others(six_steps, more));
  run.change_stage([&odd](std::unique_ptr<const Stage> stage) {
    return std::make_unique<OddStage>(std::move(stage), odd);
  });
  run.train(ranks);
  Outcome outcome;
  for (const auto& file : run.weight_files()) outcome.weights[file] = run.tensors(file);
  for (const auto& file : read_json(run.folder().quarantine())) {
    outcome.quarantined.insert(file.at("path").get<std::string>());
    EXPECT_THAT(file.at("reason").get<std::string>(), HasSubstr("nobody expected"));
  }
  return outcome;
}

void expect_same(const Outcome& one, const Outcome& other, const std::string& what) {
  EXPECT_EQ(one.quarantined, other.quarantined) << what;
  ASSERT_EQ(one.weights.size(), other.weights.size()) << what;
  for (const auto& [file, weights] : one.weights)
    EXPECT_LE(largest_difference(weights, other.weights.at(file)), 1e-11) << file << ", " << what;
}

/// Of one rank that steps over some_cases(), which it cannot read: what all others are held against.
const Outcome& outcome_without(const StageName& stage) {
  static std::map<StageName, Outcome> known;
  const auto found = known.find(stage);
  if (found != known.end()) return found->second;
  return known[stage] = train(stage, {.for_task = {}, .for_dataset = some_cases(stage)}, 1, {});
}

class OddCase : public ::testing::TestWithParam<StageName> {};

TEST_P(OddCase, IsABadFileWithItsNameOnOneTwoAndFourRanks) {
  const Odd refused{.for_task = some_cases(GetParam()), .for_dataset = {}};
  const auto& reference = outcome_without(GetParam());
  EXPECT_EQ(reference.quarantined, refused.for_task);
  for (const int ranks : {1, 2, 4})
    expect_same(train(GetParam(), refused, ranks, {}), reference, text(ranks, " ranks"));
  expect_same(train(GetParam(), refused, 2, {"parallel.strategy=zero1"}), reference, "zero1");
}

TEST_P(OddCase, IsSteppedOverByTheProbe) {
  const Odd unread{.for_task = {}, .for_dataset = some_cases(GetParam())};
  const auto& reference = outcome_without(GetParam());
  for (const int ranks : {1, 2})
    expect_same(train(GetParam(), unread, ranks, {"plan.probe=true"}), reference, text(ranks, " ranks"));
}

TEST_P(OddCase, EndsTheRunWithAllNamesWhereTheyAreTooMany) {
  const Odd refused{.for_task = some_cases(GetParam()), .for_dataset = {}};
  for (const int ranks : {1, 2}) {
    TrialRun run(GetParam(), with_others(six_steps, {"data.bad_files=0"}));
    run.change_stage([&refused](std::unique_ptr<const Stage> stage) {
      return std::make_unique<OddStage>(std::move(stage), refused);
    });
    try {
      run.train(ranks);
      FAIL() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data) << error.what();
      EXPECT_THAT(error.message(), HasSubstr("data.bad_files allows 0"));
    }
    EXPECT_FALSE(read_json(run.folder().quarantine()).empty());
  }
}

TEST_P(OddCase, WhateverEndsAValidationWhatWasTrainedIsSavedAndGoneOnFrom) {
  for (const int ranks : {1, 2}) {
    TrialRun straight(GetParam(), six_steps), broken(GetParam(), six_steps);
    straight.train(ranks);
    Odd odd{.for_task = {}, .for_dataset = {}, .exit = Exit::usage};
    broken.change_stage([&odd](std::unique_ptr<const Stage> stage) {
      return std::make_unique<OddStage>(std::move(stage), odd);
    });
    const auto index = index_from_json(read_json(straight.folder().index()));
    const auto& name = index.cases[static_cast<size_t>(index.of(Split::val)[1])].name();
    odd.for_task = {name};
    try {
      broken.train(ranks);
      FAIL() << "went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage) << error.what();
      EXPECT_THAT(error.message(), HasSubstr(name));
    }
    for (const auto& error : broken.errors()) EXPECT_TRUE(error) << "a rank went on alone";
    const auto saved = newest_good(broken.folder().checkpoints(), nullptr);
    ASSERT_TRUE(saved) << "three steps are lost";
    EXPECT_EQ(saved->step, 3);
    odd.for_task.clear();
    broken.train(ranks);
    for (const auto& file : straight.weight_files())
      EXPECT_EQ(largest_difference(broken.tensors(file), straight.tensors(file)), 0) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OddCase, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing

#include "larmor/judge/shown_cases.h"

#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/base/error.h"
#include "larmor/judge/validation.h"

namespace larmor::testing {
namespace {

/// Examples whose image is their number, on grids of as many millimetres; one is of no use, one cannot be
/// read.
class NumbersOnGrids final : public Dataset {
 public:
  NumbersOnGrids(int64_t size, std::optional<int64_t> bad = {}, std::optional<int64_t> torn = {})
      : size_(size), bad_(bad), torn_(torn) {}
  int64_t size() const override { return size_; }
  Sample get(const ExampleKey& key) const override {
    if (torn_ == key.example) fail(Exit::data, "a torn file");
    return {{"image", at::full({1}, static_cast<double>(key.example), at::kDouble)}};
  }
  std::string name(int64_t example) const override { return "case " + std::to_string(example); }
  std::optional<Affine> grid(int64_t example) const override {
    Affine grid = identity_affine();
    grid[0][0] = static_cast<double>(example + 1);
    return grid;
  }
  bool is_bad(int64_t example) const { return bad_ == example; }

 private:
  int64_t size_;
  std::optional<int64_t> bad_, torn_;
};

Panel frame() { return {.title = "numbers", .scales = {{.title = "number", .high = 10}}}; }

PanelCase case_of(int64_t example) {
  PanelPlane plane{.columns = 2, .rows = 2, .column_width = static_cast<double>(example + 1)};
  plane.values.assign(4, static_cast<float>(example));
  return {.name = "case " + std::to_string(example), .images = {{.planes = {plane}}}};
}

Image drawn(const std::vector<int64_t>& examples) {
  Panel panel = frame();
  for (const int64_t example : examples) panel.cases.push_back(case_of(example));
  return draw_panel(panel);
}

/// Shows each case that it is to show, and fails with one of them after that.
class Showing final : public Task {
 public:
  explicit Showing(const NumbersOnGrids& cases) : cases_(cases) {}
  std::vector<Objective> objectives() override { return {{"numbers", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    const int64_t example = batch.keys.front().example;
    metrics.value("loss", example, 1);
    if (metrics.shows(example)) {
      EXPECT_EQ(metrics.case_name(example), cases_.name(example));
      EXPECT_EQ((*metrics.grid(example))[0][0], static_cast<double>(example + 1));
      metrics.show("numbers", frame(), case_of(example));
      Panel other = frame();
      other.unit_of_length = "voxels";
      metrics.show("numbers", other, case_of(99));
    }
    if (cases_.is_bad(example)) fail(Exit::data, "of no use");
  }

 private:
  const NumbersOnGrids& cases_;
  torch::nn::Linear network_{1, 1};
};

std::vector<ValidationResult> shown(int ranks, const NumbersOnGrids& cases, bool pictures = true) {
  auto communicators = make_thread_ranks(ranks);
  std::vector<ValidationResult> results(communicators.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
    threads.emplace_back([&, rank] {
      Showing task(cases);
      results[rank] = validate(task, cases, *communicators[rank], {.pictures = pictures});
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

TEST(ShownCases, AreTheFirstFourOfRankZero) {
  for (const auto& [ranks, examples] :
       {std::pair<int, std::vector<int64_t>>{1, {0, 1, 2, 3}}, {2, {0, 2, 4, 6}}, {3, {0, 3, 6}}}) {
    const auto results = shown(ranks, NumbersOnGrids(9));
    ASSERT_EQ(results[0].pictures.size(), 1U);
    EXPECT_EQ(results[0].pictures[0].first, "numbers");
    EXPECT_EQ(results[0].pictures[0].second.pixels, drawn(examples).pixels) << ranks;
    for (int rank = 1; rank < ranks; ++rank)
      EXPECT_TRUE(results[static_cast<std::size_t>(rank)].pictures.empty());
  }
}

TEST(ShownCases, AreThereOnlyWhereOnesAreWanted) {
  EXPECT_TRUE(shown(1, NumbersOnGrids(9), /*pictures=*/false)[0].pictures.empty());
  EXPECT_EQ(shown(1, NumbersOnGrids(1))[0].pictures[0].second.pixels, drawn({0}).pixels);
}

/// Has a title, and says which of its examples are shown.
class TitledNumbers final : public Dataset {
 public:
  int64_t size() const override { return numbers_.size(); }
  Sample get(const ExampleKey& key) const override { return numbers_.get(key); }
  std::string name(int64_t example) const override { return numbers_.name(example); }
  Caption caption(int64_t example) const override {
    return {.title = example == 2 ? "two" : "", .words = "how many?"};
  }
  std::vector<int64_t> shown(int64_t stride) const override { return {stride, 2 * stride}; }

 private:
  NumbersOnGrids numbers_{9};
};

/// Shows what it is told of a case.
class Telling final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{"numbers", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    const int64_t example = batch.keys.front().example;
    metrics.value("loss", example, 1);
    if (metrics.shows(example)) told.push_back(metrics.case_name(example) + metrics.caption(example).words);
  }
  std::vector<std::string> told;

 private:
  torch::nn::Linear network_{1, 1};
};

TEST(ShownCases, AreThoseAndCalledAsTheDatasetSays) {
  Telling task;
  validate(task, TitledNumbers(), *make_solo(), {.pictures = true});
  EXPECT_THAT(task.told, ::testing::ElementsAre("case 1how many?", "twohow many?"));
  Telling without;
  validate(without, TitledNumbers(), *make_solo(), {});
  EXPECT_TRUE(without.told.empty());
}

/// Shows each of its nine examples.
class AllShown final : public Dataset {
 public:
  int64_t size() const override { return numbers_.size(); }
  Sample get(const ExampleKey& key) const override { return numbers_.get(key); }
  std::string name(int64_t example) const override { return numbers_.name(example); }
  std::vector<int64_t> shown(int64_t) const override { return {0, 1, 2, 3, 4, 5, 6, 7, 8}; }

 private:
  NumbersOnGrids numbers_{9};
};

TEST(ShownCases, AreFourAtMostWhileARunTrains) {
  Telling quick, full;
  validate(quick, AllShown(), *make_solo(), {.pictures = true});
  validate(full, AllShown(), *make_solo(), {.pictures = true, .depth = ValidationDepth::full});
  EXPECT_THAT(quick.told, ::testing::ElementsAre("case 0", "case 1", "case 2", "case 3"));
  EXPECT_EQ(full.told.size(), 9U);
}

/// Shows a case, and beside it the reference case of the same number.
class ShowingBeside final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{"numbers", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch& batch, Metrics& metrics) override {
    const int64_t example = batch.keys.front().example;
    metrics.value("loss", example, 1);
    if (metrics.shows(example)) metrics.show("numbers", frame(), case_of(example));
  }
  void summarize(const CaseValues&, const CaseValues&, Metrics& metrics) override {
    EXPECT_FALSE(metrics.reference_case(1)) << "it cannot be read";
    const auto found = metrics.reference_case(2);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->name, "case 2");
    EXPECT_EQ((*found->grid)[0][0], 3);
    metrics.show_beside("numbers", "case 0", case_of(2).images[0]);
    metrics.show_beside("numbers", "nobody", case_of(2).images[0]);
    metrics.show_beside("no such picture", "case 0", case_of(2).images[0]);
  }

 private:
  torch::nn::Linear network_{1, 1};
};

TEST(ShownCases, HaveAnotherImageBesideThemOnceAllCasesAreKnown) {
  auto communicators = make_thread_ranks(1);
  ShowingBeside task;
  const NumbersOnGrids cases(2), reference(4, /*bad=*/std::nullopt, /*torn=*/1);
  const auto result = validate(task, cases, *communicators[0], {.pictures = true, .reference = &reference});
  Panel panel = frame();
  panel.cases = {case_of(0), case_of(1)};
  panel.cases[0].images.push_back(case_of(2).images[0]);
  EXPECT_EQ(result.pictures.at(0).second.pixels, draw_panel(panel).pixels);
}

TEST(ShownCases, HaveNoneThatIsOfNoUse) {
  EXPECT_EQ(shown(1, NumbersOnGrids(9, 1))[0].pictures[0].second.pixels, drawn({0, 2, 3}).pixels);
}

}  // namespace
}  // namespace larmor::testing

// Batch norm over the rows of several ranks has to be libtorch's own over all of them at once.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

#include "larmor/device/autocast.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/batch_norm.h"
#include "larmor/nn/networks/resnet.h"
#include "larmor/parallel/rank_sums.h"

#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

constexpr int64_t channels = 3;
using Rows = std::vector<int64_t>;  // of each rank

struct Setting {
  at::ScalarType type = at::kFloat;
  bool in_bfloat16 = false;  // the rows, as under autocast; weights and statistics are of the type
  at::MemoryFormat format = at::MemoryFormat::Contiguous;
  Recompute recompute = Recompute::none;
};

/// What a norm makes of some rows, and what has become of it.
struct NormOutcome {
  at::Tensor output, of_input;      // [N, C, D, H, W]
  at::Tensor of_weight, of_bias;    // [C]
  at::Tensor mean, variance, seen;  // running statistics, and of how many batches
};

/// No two rows alike, and each channel with a mean and a deviation of its own.
at::Tensor made_rows(int64_t count, double phase, const Setting& setting) {
  const at::Tensor channel = at::arange(channels, at::kDouble).view({1, channels, 1, 1, 1});
  const at::Tensor ramp = at::arange(count * channels * 24, at::kDouble) * 0.37 + phase;
  const at::Tensor waves = (ramp.sin() + 0.3 * (ramp * 2.7).cos()).view({count, channels, 2, 3, 4});
  const auto type = setting.in_bfloat16 ? at::kBFloat16 : setting.type;
  return (waves * (1 + channel) + 2 * channel - 1).to(type).contiguous(setting.format);
}

/// Two training passes of `norm` over rows [first, first + count) of all, the gradient after the second.
template <class Norm>
NormOutcome run_norm(const Norm& norm, int64_t first, int64_t count, int64_t all, const Setting& setting) {
  norm->to(setting.type);
  {
    const at::NoGradGuard no_grad;
    for (const auto& item : norm->named_parameters())
      item.value().copy_(at::arange(channels) * 0.25 + (item.key() == "weight" ? 0.5 : -0.25));
  }
  NormOutcome outcome;
  for (const double phase : {0.0, 5.0}) {
    const at::Tensor input = made_rows(all, phase, setting).narrow(0, first, count).detach().requires_grad_();
    norm->zero_grad();
    const RecomputeScope recompute(setting.recompute);
    outcome.output = nn::run_block(norm, std::as_const(input));
    const at::Tensor slopes = made_rows(all, phase + 1, setting).narrow(0, first, count);
    (outcome.output * slopes).sum().backward();
    outcome.of_input = input.grad();
  }
  const auto weights = norm->named_parameters(), buffers = norm->named_buffers();
  outcome.of_weight = weights["weight"].grad().clone();
  outcome.of_bias = weights["bias"].grad().clone();
  outcome.mean = buffers["running_mean"];
  outcome.variance = buffers["running_var"];
  outcome.seen = buffers["num_batches_tracked"];
  return outcome;
}

NormOutcome libtorchs_own(int64_t rows, const Setting& setting) {
  const auto norm = std::make_shared<torch::nn::BatchNorm3dImpl>(channels);
  return run_norm(norm, 0, rows, rows,
                  {.type = setting.type, .in_bfloat16 = setting.in_bfloat16, .format = setting.format});
}

NormOutcome run_rank(Communicator& communicator, const Rows& rows, const Setting& setting) {
  at::set_num_threads(1);
  RankSums sums(communicator);
  const RankSumScope scope(&sums);
  const auto rank = static_cast<size_t>(communicator.rank());
  const int64_t first = std::accumulate(rows.begin(), rows.begin() + communicator.rank(), int64_t{0});
  const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
  return run_norm(std::make_shared<nn::BatchNorm>(channels), first, rows[rank], all, setting);
}

/// One outcome of all ranks', whose statistics have to be the same everywhere.
NormOutcome together(const std::vector<NormOutcome>& ranks) {
  NormOutcome whole = ranks[0];
  std::vector<at::Tensor> outputs, of_inputs;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    outputs.push_back(ranks[rank].output);
    of_inputs.push_back(ranks[rank].of_input);
    EXPECT_TRUE(ranks[rank].mean.equal(whole.mean) && ranks[rank].variance.equal(whole.variance));
    if (rank == 0) continue;
    whole.of_weight = whole.of_weight + ranks[rank].of_weight;
    whole.of_bias = whole.of_bias + ranks[rank].of_bias;
  }
  whole.output = at::cat(outputs);
  whole.of_input = at::cat(of_inputs);
  return whole;
}

NormOutcome run_ranks(const Rows& rows, const Setting& setting, bool over_gloo = false) {
  std::vector<NormOutcome> outcomes(rows.size());
  const auto body = [&](Communicator& communicator) {
    outcomes[static_cast<size_t>(communicator.rank())] = run_rank(communicator, rows, setting);
  };
  const auto size = static_cast<int>(rows.size());
  over_gloo ? testing::run_gloo_ranks(size, body) : testing::run_thread_ranks(size, body);
  return together(outcomes);
}

double largest_error(const at::Tensor& actual, const at::Tensor& expected) {
  return (actual - expected).abs().max().item<double>() / std::max(1.0, expected.abs().max().item<double>());
}

void expect_same(const NormOutcome& actual, const NormOutcome& expected, const std::string& where) {
  const auto type = expected.output.scalar_type();
  const double tolerance = type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-6 : 1.0 / 128;
  EXPECT_LE(largest_error(actual.output, expected.output), tolerance) << where;
  EXPECT_LE(largest_error(actual.of_input, expected.of_input), tolerance) << where;
  EXPECT_LE(largest_error(actual.of_weight, expected.of_weight), tolerance) << where;
  EXPECT_LE(largest_error(actual.of_bias, expected.of_bias), tolerance) << where;
  EXPECT_LE(largest_error(actual.mean, expected.mean), tolerance) << where;
  EXPECT_LE(largest_error(actual.variance, expected.variance), tolerance) << where;
  EXPECT_TRUE(actual.seen.equal(expected.seen)) << where;
}

std::string words_of(const Rows& rows, const Setting& setting) {
  std::string words = std::string(c10::toString(setting.type)) + ", recomputed " + to_text(setting.recompute);
  for (const int64_t count : rows) words += ", " + std::to_string(count);
  return words;
}

TEST(BatchNormOverRanks, IsLibtorchsOwnOverAllRows) {
  for (const Rows& rows : {Rows{12}, Rows{6, 6}, Rows{3, 3, 3, 3}, Rows{11, 1}, Rows{5, 1, 4, 2}}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
        const Setting setting{.type = type, .recompute = recompute};
        expect_same(run_ranks(rows, setting), libtorchs_own(12, setting), words_of(rows, setting));
      }
    }
  }
}

TEST(BatchNormOverRanks, IsLibtorchsOwnOverGloo) {
  for (const Rows& rows : {Rows{6, 6}, Rows{5, 1, 4, 2}}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const Setting setting{.type = type};
      expect_same(run_ranks(rows, setting, /*over_gloo=*/true), libtorchs_own(12, setting),
                  words_of(rows, setting));
    }
  }
}

TEST(BatchNormOverRanks, TakesChannelsLast) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Setting setting{.type = type, .format = at::MemoryFormat::ChannelsLast3d};
    const auto whole = run_ranks({7, 5}, setting);
    EXPECT_TRUE(whole.output.is_contiguous(at::MemoryFormat::ChannelsLast3d));
    expect_same(whole, libtorchs_own(12, setting), words_of({7, 5}, setting));
  }
}

TEST(BatchNormOverRanks, CountsRowsInBfloat16InFloat32) {
  for (const Rows& rows : {Rows{7, 5}, Rows{5, 1, 4, 2}}) {
    const Setting setting{.in_bfloat16 = true};
    const auto whole = run_ranks(rows, setting), own = libtorchs_own(12, setting);
    expect_same(whole, own, words_of(rows, setting));
    EXPECT_EQ(whole.output.scalar_type(), at::kBFloat16);
    EXPECT_LE(largest_error(whole.mean, own.mean), 1e-6);
    EXPECT_LE(largest_error(whole.variance, own.variance), 1e-6);
  }
}

TEST(BatchNormOverRanks, LetsARankHaveNoRows) {
  for (const Rows& rows : {Rows{0, 5}, Rows{2, 0, 3, 0}}) {
    for (const Recompute recompute : {Recompute::none, Recompute::blocks}) {
      const Setting setting{.type = at::kDouble, .recompute = recompute};
      expect_same(run_ranks(rows, setting), libtorchs_own(5, setting), words_of(rows, setting));
    }
  }
}

TEST(BatchNormOverRanks, NormalisesASingleValueOfEachRank) {
  testing::run_thread_ranks(2, [](Communicator& communicator) {
    RankSums sums(communicator);
    const RankSumScope scope(&sums);
    nn::BatchNorm norm(1);
    const double own = communicator.rank() == 0 ? 1 : 3;
    const at::Tensor output = norm.forward(at::full({1, 1, 1, 1, 1}, own));
    EXPECT_NEAR(output.item<double>(), own - 2, 1e-5);
    EXPECT_NEAR(norm.named_buffers()["running_var"].item<double>(), 0.9 + 0.1 * 2, 1e-6);
  });
}

TEST(BatchNormOverRanks, KeepsItsDigitsFarFromZero) {
  const Setting setting{.type = at::kFloat};
  const at::Tensor near = made_rows(8, 0, setting), far = near + 4096;  // spacing of floats there: 5e-4
  at::Tensor exact = far.to(at::kDouble);
  exact = (exact - exact.mean({0, 2, 3, 4}, true)) /
          (exact.var(at::IntArrayRef{0, 2, 3, 4}, false, true) + 1e-5).sqrt();
  testing::run_thread_ranks(2, [&](Communicator& communicator) {
    RankSums sums(communicator);
    const RankSumScope scope(&sums);
    nn::BatchNorm norm(channels);
    const int64_t first = communicator.rank() * 4;
    const double error = largest_error(norm.forward(far.narrow(0, first, 4)), exact.narrow(0, first, 4));
    EXPECT_LE(error, 2e-3) << "the mean itself has seven digits";
  });
}

/// Rank 1's values never arrive.
struct Forgetful final : RankSum {
  explicit Forgetful(Communicator& communicator) : sums(communicator), rank(communicator.rank()) {}
  int ranks() const override { return sums.ranks(); }
  void add_up(const at::Tensor& values) override {
    if (rank == 1) values.zero_();
    sums.add_up(values);
  }
  RankSums sums;
  int rank;
};

TEST(BatchNormOverRanks, WouldFailTheseTestsIfARanksRowsWereForgotten) {
  const Setting setting{.type = at::kDouble};
  std::vector<NormOutcome> outcomes(2);
  testing::run_thread_ranks(2, [&](Communicator& communicator) {
    Forgetful forgetful(communicator);
    const RankSumScope scope(&forgetful);
    outcomes[static_cast<size_t>(communicator.rank())] =
        run_norm(std::make_shared<nn::BatchNorm>(channels), communicator.rank() * 6, 6, 12, setting);
  });
  const NormOutcome whole = together(outcomes), expected = libtorchs_own(12, setting);
  EXPECT_GT(largest_error(whole.output, expected.output), 1e-3);
  EXPECT_GT(largest_error(whole.of_input, expected.of_input), 1e-3);
  EXPECT_GT(largest_error(whole.mean, expected.mean), 1e-4);
  EXPECT_GT(largest_error(whole.variance, expected.variance), 1e-4);
}

/// Gradients of all weights, and the running statistics, after one pass of a small ResNet.
struct NetworkOutcome {
  std::vector<at::Tensor> gradients, buffers;
};

constexpr int64_t images = 8;

NetworkOutcome run_network(int64_t first, int64_t count, Precision precision, Recompute recompute) {
  nn::ResNetOptions options;
  options.depth = 10;
  options.widen_factor = 0.125;
  options.conv1_t_size = {3};
  options.bias_downsample = false;  // before a norm its gradient is zero, and nothing to compare with
  nn::ResNet network(options);
  const auto type = precision == Precision::fp64 ? at::kDouble : at::kFloat;
  network->to(type);
  for (const at::Tensor& parameter : network->parameters()) {
    if (parameter.dim() == 1) continue;
    const at::NoGradGuard no_grad;
    const at::Tensor wave = (at::arange(parameter.numel(), at::kDouble).square() * 0.91).sin();
    parameter.copy_(wave.view(parameter.sizes()) * std::sqrt(2.0 * parameter.size(0) / parameter.numel()));
  }
  const at::Tensor ramp = at::arange(images * 4096, at::kDouble).view({images, 1, 16, 16, 16});
  const at::Tensor input = ((ramp * 0.37).sin() + (ramp.square() * 0.0027).cos()).to(type);
  at::Tensor output;
  {
    const AutocastScope autocast(at::kCPU, precision);
    const RecomputeScope again(recompute);
    output = network->forward(input.narrow(0, first, count));
  }
  (output.squeeze(1) * (at::arange(images) - 3).narrow(0, first, count)).sum().backward();
  NetworkOutcome outcome;
  for (const at::Tensor& parameter : network->parameters()) outcome.gradients.push_back(parameter.grad());
  for (const at::Tensor& buffer : network->buffers()) outcome.buffers.push_back(buffer);
  return outcome;
}

/// The largest over all tensors of the error against the tensor's own size; a bias before
/// a norm has a gradient of zero.
double error_over(const Rows& rows, Precision precision, Recompute recompute,
                  const NetworkOutcome& expected) {
  std::vector<NetworkOutcome> outcomes(rows.size());
  testing::run_thread_ranks(static_cast<int>(rows.size()), [&](Communicator& communicator) {
    at::set_num_threads(1);
    RankSums sums(communicator);
    const RankSumScope scope(&sums);
    const auto rank = static_cast<size_t>(communicator.rank());
    const int64_t first = std::accumulate(rows.begin(), rows.begin() + communicator.rank(), int64_t{0});
    outcomes[rank] = run_network(first, rows[rank], precision, recompute);
  });
  double largest = 0;
  const auto compare = [&](const at::Tensor& actual, const at::Tensor& wanted) {
    largest = std::max(largest,
                       (actual - wanted).norm().item<double>() / std::max(1.0, wanted.norm().item<double>()));
  };
  for (size_t i = 0; i < expected.gradients.size(); ++i) {
    at::Tensor sum = outcomes[0].gradients[i];
    for (size_t rank = 1; rank < rows.size(); ++rank) sum = sum + outcomes[rank].gradients[i];
    compare(sum, expected.gradients[i]);
  }
  for (size_t i = 0; i < expected.buffers.size(); ++i) {
    for (const NetworkOutcome& outcome : outcomes)
      compare(outcome.buffers[i].to(at::kDouble), expected.buffers[i].to(at::kDouble));
  }
  return largest;
}

TEST(BatchNormOverRanks, MakesAWholeNetworkThatOfOneRank) {
  at::set_num_threads(1);
  const NetworkOutcome expected = run_network(0, images, Precision::fp64, Recompute::none);
  for (const Rows& rows : {Rows{4, 4}, Rows{5, 3}, Rows{1, 4, 1, 2}}) {
    for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all})
      EXPECT_LE(error_over(rows, Precision::fp64, recompute, expected), 1e-10) << to_text(recompute);
  }
}

TEST(BatchNormOverRanks, LosesNoMoreUnderAutocastThanOneRankDoes) {
  if (!one_dnn_computes(c10::kBFloat16)) GTEST_SKIP() << "this CPU does not compute in bf16";
  at::set_num_threads(1);
  const NetworkOutcome exact = run_network(0, images, Precision::fp32, Recompute::none);
  const double of_one_rank = error_over({images}, Precision::bf16, Recompute::none, exact);
  for (const Recompute recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
    for (const Rows& rows : {Rows{5, 3}, Rows{2, 2, 2, 2}})
      EXPECT_LE(error_over(rows, Precision::bf16, recompute, exact), 1.1 * of_one_rank) << to_text(recompute);
  }
}

}  // namespace
}  // namespace larmor

#include "larmor/optim/optimizer.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/optim.h>
#include <torch/types.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using Tensors = std::vector<at::Tensor>;

OptimConfig config_of(const std::string& name) {
  OptimConfig config;
  config.name = name;
  config.weight_decay = 0.05;
  config.momentum = 0.9;
  config.betas = {0.8, 0.95};
  return config;
}

Tensors make_parameters(at::ScalarType type = at::kDouble) {
  torch::manual_seed(3);
  Tensors parameters;
  for (const auto& sizes : std::vector<std::vector<int64_t>>{{4, 3}, {7}, {2, 3, 2, 2, 2}}) {
    parameters.push_back(torch::randn(sizes, type).requires_grad_());
  }
  return parameters;
}

/// A gradient that depends on the parameter and on the step.
void set_gradients(const Tensors& parameters, int step) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].mutable_grad() = (parameters[i].detach() * (1 + static_cast<double>(i)) + step).sin();
  }
}

double largest_difference(const Tensors& a, const Tensors& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, (a[i] - b[i]).abs().max().item<double>());
  }
  return largest;
}

/// Kingma and Ba's algorithm 1, Loshchilov and Hutter's algorithm 2, and Polyak's momentum, element by
/// element.
class ByHand {
 public:
  ByHand(OptimConfig config, const Tensors& parameters) : config_(std::move(config)) {
    for (const at::Tensor& parameter : parameters) {
      first_.emplace_back(parameter.numel(), 0.0);
      second_.emplace_back(parameter.numel(), 0.0);
    }
    counts_.assign(parameters.size(), 0);
  }

  void step(const Tensors& parameters, double rate) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].grad().defined()) continue;
      counts_[i] += 1;
      const at::Tensor gradient = parameters[i].grad().contiguous();
      at::Tensor values = parameters[i].detach().contiguous();
      for (int64_t n = 0; n < values.numel(); ++n) {
        double& value = values.mutable_data_ptr<double>()[n];
        move(i, static_cast<size_t>(n), value, gradient.const_data_ptr<double>()[n], rate);
      }
      parameters[i].detach().copy_(values);
    }
  }

 private:
  void move(size_t i, size_t n, double& value, double slope, double rate) {
    double &m = first_[i][n], &v = second_[i][n];
    if (config_.name == "sgd") {
      slope += config_.weight_decay * value;
      m = counts_[i] == 1 ? slope : config_.momentum * m + slope;
      value -= rate * m;
      return;
    }
    if (config_.name == "adam") slope += config_.weight_decay * value;
    if (config_.name == "adamw") value -= rate * config_.weight_decay * value;
    const double b1 = config_.betas[0], b2 = config_.betas[1];
    m = b1 * m + (1 - b1) * slope;
    v = b2 * v + (1 - b2) * slope * slope;
    const double mean = m / (1 - std::pow(b1, counts_[i])), square = v / (1 - std::pow(b2, counts_[i]));
    value -= rate * mean / (std::sqrt(square) + config_.eps);
  }

  OptimConfig config_;
  std::vector<std::vector<double>> first_, second_;
  std::vector<int> counts_;
};

class EachOptimizer : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ByName, EachOptimizer, ::testing::Values("adamw", "adam", "sgd"));

TEST_P(EachOptimizer, FollowsItsFormula) {
  const OptimConfig config = config_of(GetParam());
  const Tensors ours = make_parameters(), theirs = make_parameters();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, ours);
  ByHand by_hand(config, theirs);
  for (int step = 0; step < 20; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step(0.02 / (1 + step));
    by_hand.step(theirs, 0.02 / (1 + step));
  }
  EXPECT_LT(largest_difference(ours, theirs), 1e-13);
  EXPECT_GT(largest_difference(ours, make_parameters()), 1e-2) << "nothing has moved";
  EXPECT_EQ(optimizer->steps(), 20);
}

TEST_P(EachOptimizer, LeavesParametersWithoutAGradientAlone) {
  const OptimConfig config = config_of(GetParam());
  const Tensors ours = make_parameters(), theirs = make_parameters();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, ours);
  ByHand by_hand(config, theirs);
  for (int step = 0; step < 9; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    // The second parameter joins late and then moves at every other step only.
    if (step < 3 || step % 2 == 0) {
      ours[1].mutable_grad() = at::Tensor();
      theirs[1].mutable_grad() = at::Tensor();
    }
    const at::Tensor before = ours[1].detach().clone();
    optimizer->step(0.02);
    by_hand.step(theirs, 0.02);
    EXPECT_EQ(torch::equal(before, ours[1].detach()), !ours[1].grad().defined());
  }
  EXPECT_LT(largest_difference(ours, theirs), 1e-13);
}

TEST_P(EachOptimizer, GoesOnWithTheSameBitsFromCopiedState) {
  const OptimConfig config = config_of(GetParam());
  const Tensors straight = make_parameters(at::kFloat);
  const std::unique_ptr<Optimizer> first = make_optimizer(config, straight);
  for (int step = 0; step < 5; ++step) {
    set_gradients(straight, step);
    first->step(0.02);
  }
  Tensors resumed;
  for (const at::Tensor& parameter : straight) {
    resumed.push_back(parameter.detach().clone().requires_grad_());
  }
  const std::unique_ptr<Optimizer> second = make_optimizer(config, resumed);
  for (auto& [kind, tensors] : first->state()) {
    for (size_t i = 0; i < tensors.size(); ++i) second->state()[kind][i] = tensors[i].clone();
  }
  second->set_steps(first->steps());
  for (int step = 5; step < 9; ++step) {
    set_gradients(straight, step);
    set_gradients(resumed, step);
    first->step(0.02);
    second->step(0.02);
  }
  EXPECT_EQ(largest_difference(straight, resumed), 0);
  EXPECT_EQ(second->steps(), 9);
}

TEST_P(EachOptimizer, HeedsTheLayoutOfParametersAndGradients) {
  const OptimConfig config = config_of(GetParam());
  torch::manual_seed(5);
  const at::Tensor values = torch::randn({3, 4, 2, 2, 2}, at::kDouble);
  const Tensors plain = {values.clone().requires_grad_()};
  const Tensors last = {values.contiguous(at::MemoryFormat::ChannelsLast3d).requires_grad_()};
  ASSERT_NE(plain[0].strides(), last[0].strides());
  const std::unique_ptr<Optimizer> one = make_optimizer(config, plain), other = make_optimizer(config, last);
  for (int step = 0; step < 4; ++step) {
    set_gradients(plain, step);
    last[0].mutable_grad() = plain[0].grad().clone();  // contiguous, unlike its parameter
    one->step(0.1);
    other->step(0.1);
  }
  EXPECT_EQ(largest_difference(plain, last), 0);
}

TEST(MakeOptimizer, AgreesWithTorchsAdamW) {
  const OptimConfig config = config_of("adamw");
  const Tensors ours = make_parameters(), theirs = make_parameters();
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, ours);
  torch::optim::AdamW reference(theirs, torch::optim::AdamWOptions(0.02)
                                            .betas({config.betas[0], config.betas[1]})
                                            .eps(config.eps)
                                            .weight_decay(config.weight_decay));
  for (int step = 0; step < 10; ++step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    optimizer->step(0.02);
    reference.step();
  }
  EXPECT_LT(largest_difference(ours, theirs), 1e-13);
}

TEST(MakeOptimizer, RunsSgdWithoutMomentumAndWithoutState) {
  OptimConfig config;
  config.name = "sgd";
  const Tensors parameters = {torch::ones({2}, at::kDouble).requires_grad_()};
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(config, parameters);
  parameters[0].mutable_grad() = torch::full({2}, 3.0, at::kDouble);
  optimizer->step(0.1);
  EXPECT_NEAR(parameters[0][0].item<double>(), 0.7, 1e-15);
  EXPECT_TRUE(optimizer->state().empty());
}

/// Two groups against two optimizers of libtorch's, one a group.
TEST(MakeOptimizer, MovesEveryGroupAtItsOwnRateAndWithItsOwnDecay) {
  for (const char* const name : {"sgd", "adam", "adamw"}) {
    OptimConfig all;
    all.name = name;
    all.momentum = 0.9;
    all.weight_decay = 0.3;
    OptimConfig second = all;
    second.weight_decay = 0.01;
    const Tensors grouped = make_parameters(), apart = make_parameters();
    std::vector<ParameterTraits> traits;
    std::vector<std::unique_ptr<Optimizer>> alone;
    for (size_t i = 0; i < grouped.size(); ++i) {
      traits.push_back(i == 1 ? ParameterTraits{.rate = 0.25, .weight_decay = 0.01}
                              : ParameterTraits{.rate = 1, .weight_decay = 0.3});
      alone.push_back(make_optimizer(i == 1 ? second : all, {apart[i]}));
    }
    const auto together = make_optimizer(all, grouped, traits);
    for (int step = 0; step < 5; ++step) {
      set_gradients(grouped, step);
      set_gradients(apart, step);
      together->step(0.1);
      for (size_t i = 0; i < alone.size(); ++i) alone[i]->step(0.1 * traits[i].rate);
    }
    for (size_t i = 0; i < grouped.size(); ++i)
      EXPECT_TRUE(torch::equal(grouped[i], apart[i])) << name << " " << i;
    EXPECT_FALSE(torch::equal(grouped[1], make_parameters()[1])) << "nothing has moved";
  }
}

TEST(StateKinds, AreWhatTheOptimizerKeeps) {
  for (const auto& [name, momentum] : {std::pair("sgd", 0.0), {"sgd", 0.9}, {"adam", 0.0}, {"adamw", 0.0}}) {
    OptimConfig config;
    config.name = name;
    config.momentum = momentum;
    const Tensors parameters = make_parameters();
    const auto optimizer = make_optimizer(config, parameters);
    set_gradients(parameters, 0);
    optimizer->step(0.1);
    const auto kinds = state_kinds(config);
    EXPECT_EQ(kinds.size(), optimizer->state().size()) << name;
    for (const StateKind& kind : kinds) {
      const at::Tensor state = optimizer->state().at(kind.name)[0];
      EXPECT_EQ(state.sizes() == parameters[0].sizes(), !kind.is_scalar) << kind.name;
    }
  }
}

TEST(MakeOptimizer, RefusesANameThatItDoesNotKnow) {
  OptimConfig config;
  config.name = "adan";
  EXPECT_THROW(make_optimizer(config, {}), Error);
}

Tensors gradients_of(const Tensors& parameters) {
  Tensors gradients;
  for (const at::Tensor& parameter : parameters) gradients.push_back(parameter.grad());
  return gradients;
}

TEST(GradientNorm, SpansAllGradientsAndThoseOfZerosCountNothing) {
  const at::Tensor twos = torch::full({4, 3}, 2.0, at::kDouble), ones = torch::full({7}, -1.0, at::kDouble);
  const at::Tensor zeros = torch::zeros({5}, at::kDouble);
  EXPECT_DOUBLE_EQ(gradient_norm({twos, zeros, ones}).item<double>(), std::sqrt(12 * 4.0 + 7));
  EXPECT_EQ(gradient_norm({zeros}).item<double>(), 0);
}

TEST(ClipGradients, ScalesOnlyWhatIsTooLong) {
  const Tensors parameters = make_parameters();
  set_gradients(parameters, 1);
  const at::Tensor norm = gradient_norm(gradients_of(parameters));
  const at::Tensor before = parameters[0].grad().clone();

  clip_gradients(parameters, norm, norm.item<double>() * 2);
  EXPECT_TRUE(torch::equal(parameters[0].grad(), before));

  clip_gradients(parameters, norm, 0.5);
  EXPECT_NEAR(gradient_norm(gradients_of(parameters)).item<double>(), 0.5, 1e-6);
  const double coefficient = 0.5 / (norm.item<double>() + 1e-6);
  EXPECT_LT((parameters[0].grad() - before * coefficient).abs().max().item<double>(), 1e-16);
  clip_gradients({make_parameters()[0]}, norm, 0.5);
}

}  // namespace
}  // namespace larmor

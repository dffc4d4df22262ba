#include "larmor/device/initialisation.h"

#include <functional>
#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/init.h>

namespace larmor::testing {
namespace {

using Initialiser = std::function<void(const at::Tensor&)>;

at::Tensor initialised(const Initialiser& initialise) {
  const SeededInitialisation seeded(3);
  const at::Tensor weight = at::ones({4, 3, 2}).set_requires_grad(true);
  initialise(weight);
  return weight.detach();
}

TEST(Initialisers, DrawWhatTorchDraws) {
  namespace init = torch::nn::init;
  const std::vector<std::pair<Initialiser, Initialiser>> pairs = {
      {[](const auto& weight) { initialise_normal(weight, 1, 2); },
       [](const auto& weight) { init::normal_(weight, 1, 2); }},
      {[](const auto& weight) { initialise_uniform(weight, 1, 2); },
       [](const auto& weight) { init::uniform_(weight, 1, 2); }},
      {[](const auto& weight) { initialise_kaiming_uniform(weight, 0.5); },
       [](const auto& weight) { init::kaiming_uniform_(weight, 0.5); }},
      {[](const auto& weight) { initialise_xavier_uniform(weight); },
       [](const auto& weight) { init::xavier_uniform_(weight); }}};
  for (const auto& [ours, theirs] : pairs) {
    EXPECT_TRUE(initialised(ours).equal(initialised(theirs)));
    const SkippedInitialisation skipped;
    EXPECT_TRUE(initialised(ours).equal(at::zeros({4, 3, 2})));
    ASSERT_EQ(skipped.undrawn().size(), 1U);
    EXPECT_TRUE(skipped.undrawn()[0].equal(at::zeros({4, 3, 2})));
  }
}

TEST(SkippedInitialisation, DrawsNothing) {
  const auto fingerprint = default_generator_fingerprint();
  const SkippedInitialisation skipped;
  initialise_normal(at::empty({3}), 0, 1);
  EXPECT_EQ(default_generator_fingerprint(), fingerprint);
}

TEST(SkippedInitialisation, IsOfItsThreadAndScope) {
  const Initialiser normal = [](const at::Tensor& weight) { initialise_normal(weight, 0, 1); };
  const at::Tensor drawn = initialised(normal), zeros = at::zeros({4, 3, 2});
  const SkippedInitialisation outer;
  {
    const SkippedInitialisation inner;
    EXPECT_TRUE(initialised(normal).equal(zeros));
    EXPECT_EQ(inner.undrawn().size(), 1U);
    const DrawnInitialisation within;
    EXPECT_TRUE(initialised(normal).equal(drawn)) << "of a seed alone";
    EXPECT_EQ(inner.undrawn().size(), 1U);
  }
  EXPECT_TRUE(outer.undrawn().empty()) << "what an inner scope leaves out is its own matter";
  EXPECT_TRUE(initialised(normal).equal(zeros));
  std::thread([&] { EXPECT_TRUE(initialised(normal).equal(drawn)); }).join();
}

TEST(Initialisers, LeaveTheMetaDeviceAlone) {
  const SkippedInitialisation skipped;
  const at::Tensor weight = at::empty({3, 3}, c10::kMeta);
  initialise_kaiming_uniform(weight, 0);
  EXPECT_TRUE(weight.is_meta());
  EXPECT_TRUE(skipped.undrawn().empty());
}

}  // namespace
}  // namespace larmor::testing

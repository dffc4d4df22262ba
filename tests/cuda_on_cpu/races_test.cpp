// The kernels of cards under ThreadSanitizer, which takes each of a block's threads for a thread of its own.
// The kernels alone are compiled for it. Two accesses to one place, of which one writes, need a barrier
// between them.
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/draw/philox.h"
#include "larmor/kernels/norms/batch_norm_relu.h"
#include "larmor/kernels/norms/group_norm_silu.h"

#include "tests/cuda_on_cpu/card_kernels.h"
#include "tests/cuda_on_cpu/launches.h"
#include "tests/cuda_on_cpu/planted.h"

namespace {

std::atomic<int> reports{0};

}  // namespace

// ThreadSanitizer calls them.
extern "C" void __tsan_on_report(void* /*report*/) { ++reports; }
extern "C" const char* __tsan_default_options() { return "exitcode=0:report_signal_unsafe=0"; }

namespace cuda_on_cpu {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

int races_of(const std::function<void()>& run) {
  const int before = reports;
  const uint64_t launches = launch_count();
  run();
  EXPECT_GT(launch_count(), launches);
  return reports - before;
}

void normalise_and_differentiate(const Tensor& plain, int64_t groups, bool activated) {
  const CardKernels kernels({.kind = Order::shuffled});
  const Tensor input = plain.detach().requires_grad_();
  const Tensor weight = at::ones({input.size(1)}).requires_grad_(),
               bias = at::zeros({input.size(1)}).requires_grad_();
  const Tensor output = activated ? larmor::group_norm_silu(input, groups, weight, bias, 1e-5)
                                  : larmor::normalise_groups(input, groups, weight, bias, 1e-5);
  output.backward(at::ones_like(output));
}

TEST(Races, NormsHaveNone) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    // Packs that fit and that do not; the last has several pieces of a channel.
    for (const Sizes& sizes :
         {Sizes{2, 8, 3, 4, 5}, Sizes{1, 48, 4, 6, 5}, Sizes{1, 6, 9, 9, 9}, Sizes{1, 2, 32, 17, 16}}) {
      const Tensor plain = larmor::draw_normal(3, "input", sizes).to(type);
      for (const Tensor& input : {plain, plain.contiguous(at::MemoryFormat::ChannelsLast3d)}) {
        for (const bool activated : {false, true})
          EXPECT_EQ(races_of([&] { normalise_and_differentiate(input, 2, activated); }), 0) << sizes << type;
      }
    }
  }
}

TEST(Races, NormsOfBatchesAndBiasesHaveNone) {
  const auto add = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("larmor::add_channel_bias_", "")
                       .typed<void(const Tensor&, const Tensor&)>();
  const auto sum = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("larmor::channel_sums", "")
                       .typed<Tensor(const Tensor&, bool, at::ScalarType)>();
  const auto run = [&](const Tensor& plain, bool adds) {
    const CardKernels kernels({.kind = Order::shuffled});
    const Tensor input = plain.detach().requires_grad_(), channels = at::ones({input.size(1)});
    const larmor::BatchMoments moments = larmor::batch_moments(input, nullptr);
    larmor::remember_moments(moments, 0.1, channels.clone(), channels.clone());
    larmor::batch_norm_relu(input, moments,
                            {.weight = channels,
                             .bias = channels,
                             .residual = adds ? at::ones_like(plain) : Tensor(),
                             .activated = true})
        .sum()
        .backward();
    const Tensor own = plain.clone();
    add.call(own, channels);
    sum.call(own, adds, at::kFloat);
  };
  for (const Sizes& sizes : {Sizes{2, 8, 3, 4, 5}, Sizes{3, 6, 9, 9, 9}, Sizes{1, 2, 32, 17, 16}}) {
    const Tensor plain = larmor::draw_normal(3, "input", sizes).to(at::kBFloat16);
    for (const Tensor& input : {plain, plain.contiguous(at::MemoryFormat::ChannelsLast3d)})
      for (const bool adds : {false, true}) EXPECT_EQ(races_of([&] { run(input, adds); }), 0) << sizes;
  }
}

TEST(Races, PhiloxHasNone) {
  const Tensor streams = at::arange(3, at::kLong), input = at::ones({3, 4, 5, 5, 7});
  const Tensor last = input.contiguous(at::MemoryFormat::ChannelsLast3d);
  const CardKernels kernels({.kind = Order::shuffled});
  EXPECT_EQ(races_of([&] { larmor::philox_normal(streams, 7, {3, 300}); }), 0);
  EXPECT_EQ(races_of([&] { larmor::philox_uniform(streams, 7, {3, 300}); }), 0);
  EXPECT_EQ(races_of([&] { larmor::philox_kept(streams, 7, {3, 300}, 1U << 30U); }), 0);
  EXPECT_EQ(races_of([&] { larmor::philox_integers(streams, 7, 1000); }), 0);
  EXPECT_EQ(races_of([&] { larmor::philox_dropout(input, streams, 7, 1U << 30U, 2); }), 0);
  EXPECT_EQ(races_of([&] { larmor::philox_dropout(last, streams, 7, 1U << 30U, 2); }), 0);
}

TEST(Races, OneThatIsPlantedIsFound) {
  const std::vector<float> numbers(64, 1);
  float sum = 0;
  EXPECT_EQ(races_of([&] { planted::add_by_halves(numbers.data(), &sum, 1, planted::Barriers::all); }), 0);
  EXPECT_GT(races_of([&] { planted::add_by_halves(numbers.data(), &sum, 1, planted::Barriers::none); }), 0);
}

TEST(Races, ShufflesAndAtomicsAreNone) {
  const std::vector<float> numbers(256, 1);
  float sum = 0;
  EXPECT_EQ(races_of([&] { planted::add_by_shuffles(numbers.data(), &sum, 1, 256); }), 0);
  std::vector<int> counts(3, 0);
  EXPECT_EQ(races_of([&] { planted::count_threads(counts.data(), 2, 64); }), 0);
}

}  // namespace
}  // namespace cuda_on_cpu

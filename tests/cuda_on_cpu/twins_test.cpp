// Each operator that has kernels for GPUs, by these kernels, in each order of threads: the values and
// gradients of the CPU's functions in float64, and their bits where they are promised.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/draw/philox.h"
#include "larmor/kernels/norms/group_norm_silu.h"
#include "larmor/kernels/projector/projector.h"

#include "tests/cuda_on_cpu/card_kernels.h"
#include "tests/cuda_on_cpu/launches.h"
#include "tests/kernels/support/batch_norm_cases.h"
#include "tests/kernels/support/card_case.h"

namespace cuda_on_cpu {
namespace {

using at::Tensor;
using larmor::testing::card::allowed_of;
using larmor::testing::card::CardCase;
using larmor::testing::card::expect_cpu_values;
using larmor::testing::card::expect_near;
using larmor::testing::card::remembered_moments;
using Sizes = std::vector<int64_t>;
using Tensors = std::vector<Tensor>;

constexpr at::ScalarType every_type[] = {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16};

class Twins : public ::testing::TestWithParam<Order> {
 protected:
  static void expect_twin(const CardCase& given) {
    const uint64_t before = launch_count();
    expect_cpu_values(given, c10::kCPU, [] { return std::make_shared<CardKernels>(GetParam()); });
    EXPECT_GT(launch_count(), before);
  }
};

CardCase norm_of(const Sizes& input, int64_t groups, bool activated, bool has_affine = true) {
  std::vector<Sizes> leaves{input};
  if (has_affine) leaves.insert(leaves.end(), 2, {input[1]});
  const auto run = [=](const Tensors& given) {
    const Tensor weight = has_affine ? given[1] : Tensor(), bias = has_affine ? given[2] : Tensor();
    return activated ? larmor::group_norm_silu(given[0], groups, weight, bias, 1e-5)
                     : larmor::normalise_groups(given[0], groups, weight, bias, 1e-5);
  };
  return {.name = activated ? "group_norm_silu" : "normalise_groups",
          .leaves = leaves,
          .run = run,
          .keeps_float32 = true};
}

TEST_P(Twins, NormaliseGroups) {
  struct Groups {
    Sizes input;
    int64_t groups;
  };
  // Rows that fill packs and that do not, groups of one channel and of many, several pieces of a channel.
  const Groups cases[] = {{{2, 8, 3, 4, 5}, 4},     {{3, 5, 3, 3}, 1},      {{2, 4, 2}, 2},
                          {{1, 264, 2, 3, 2}, 33},  {{2, 32, 4, 4, 6}, 32}, {{1, 2, 33, 32, 32}, 1},
                          {{1, 16, 17, 16, 16}, 4}, {{1, 48, 9, 11, 13}, 8}};
  for (const auto& [input, groups] : cases) {
    for (const bool activated : {false, true}) expect_twin(norm_of(input, groups, activated));
  }
  expect_twin(norm_of({2, 8, 3, 4, 6}, 2, true, /*has_affine=*/false));
}

TEST_P(Twins, NormaliseGroupsThatLieBetweenPacks) {
  const Tensor all = larmor::draw_normal(3, "all", {1 + 2 * 8 * 4 * 4 * 4});
  for (const at::ScalarType type : every_type) {
    const Tensor input = all.to(type).slice(0, 1).view({2, 8, 4, 4, 4});
    const Tensor truth = larmor::group_norm_silu(input.to(at::kDouble), 2, {}, {}, 1e-5);
    const CardKernels kernels(GetParam());
    expect_near(larmor::group_norm_silu(input, 2, {}, {}, 1e-5), truth, allowed_of(type),
                c10::toString(type));
  }
}

TEST_P(Twins, NormaliseBatches) {
  for (const CardCase& each : larmor::testing::card::batch_norm_cases()) expect_twin(each);
}

TEST_P(Twins, RememberMoments) {
  for (const at::ScalarType type : {at::kDouble, at::kFloat, at::kHalf}) {
    const Tensor truth = remembered_moments(c10::kCPU, type);
    const CardKernels kernels(GetParam());
    expect_near(remembered_moments(c10::kCPU, type), truth, allowed_of(type), c10::toString(type));
  }
}

template <class Signature>
auto operator_of(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

TEST_P(Twins, AddBiasesAndSumTheirGradients) {
  const auto add = operator_of<void(const Tensor&, const Tensor&)>("larmor::add_channel_bias_");
  const auto sum = operator_of<Tensor(const Tensor&, bool, at::ScalarType)>("larmor::channel_sums");
  for (const Sizes& sizes :
       {Sizes{2, 8, 3, 4, 5}, Sizes{3, 48, 9, 11, 13}, Sizes{2, 6, 15, 14}, Sizes{4, 16, 1}})
    for (const at::ScalarType type : every_type)
      for (const bool of_each_sample : {false, true}) {
        const Tensor input = larmor::draw_normal(3, "input", sizes).to(type);
        const Tensor bias =
            larmor::draw_normal(3, "bias", of_each_sample ? Sizes{sizes[0], sizes[1]} : Sizes{sizes[1]});
        const at::ScalarType wide = type == at::kDouble ? at::kDouble : at::kFloat;
        for (const Tensor& given : {input, input.movedim(1, -1).contiguous().movedim(-1, 1)}) {
          const Tensor added = given.to(at::kDouble).clone(),
                       sums = sum.call(added, of_each_sample, at::kDouble);
          add.call(added, bias.to(at::kDouble));
          const CardKernels kernels(GetParam());
          const Tensor own = given.clone();
          add.call(own, bias);
          expect_near(own, added, allowed_of(type), c10::toString(type));
          expect_near(sum.call(given, of_each_sample, wide), sums, allowed_of(wide), c10::toString(type));
        }
      }
}

/// What runs computes by the CPU's functions and by the kernels of cards; both have the same bits and layout.
template <class Run>
void expect_same_bits(Order order, const Run& run, const std::string& what) {
  const Tensor by_cpu = run();
  const CardKernels kernels(order);
  const uint64_t before = launch_count();
  const Tensor by_card = run();
  EXPECT_GT(launch_count(), before) << what;
  EXPECT_TRUE(at::equal(by_card, by_cpu)) << what;
  EXPECT_EQ(by_card.strides(), by_cpu.strides()) << what;
}

TEST_P(Twins, DrawTheBitsOfTheCpu) {
  constexpr uint64_t key = 0x1234'5678'9abc'def0, threshold = uint64_t{3} << 30U;
  const Tensor streams =
      at::tensor({int64_t{5}, int64_t{-77}, int64_t{1} << 62}, at::TensorOptions(at::kLong));
  const Order order = GetParam();
  for (const Sizes& sizes : {Sizes{3, 1}, Sizes{3, 1023}, Sizes{3, 6, 65, 33}}) {
    expect_same_bits(order, [&] { return larmor::philox_normal(streams, key, sizes); }, "normals");
    expect_same_bits(order, [&] { return larmor::philox_uniform(streams, key, sizes); }, "uniforms");
    expect_same_bits(order, [&] { return larmor::philox_kept(streams, key, sizes, threshold); }, "masks");
    for (const at::ScalarType type : every_type) {
      const Tensor input = larmor::draw_normal(3, "input", sizes).to(type);
      const Tensor last = input.movedim(1, -1).contiguous().movedim(-1, 1);
      for (const Tensor& given : {input, last}) {
        expect_same_bits(
            order, [&] { return larmor::philox_dropout(given, streams, key, threshold, 4.0 / 3); },
            std::string("dropout of ") + c10::toString(type));
      }
    }
  }
  expect_same_bits(order, [&] { return larmor::philox_integers(streams, key, 1000); }, "integers");
}

TEST_P(Twins, ProjectAndBackProject) {
  const std::array<int64_t, 3> size{17, 21, 14};
  const larmor::VoxelPositions positions{{{8, 0, 0, -72}, {0, 7, 0, -70}, {0, 0, 10, -70}, {0, 0, 0, 1}}};
  std::vector<larmor::RadiographView> views;
  for (const double degrees : {0.0, 90.0, 33.0}) {
    for (const larmor::Beam beam : {larmor::Beam::cone, larmor::Beam::parallel})
      views.push_back({.beam = beam, .degrees = degrees, .pixels = {22, 25}, .spacing = {10, 9}});
  }
  const Tensor rays = larmor::ray_geometry(views, positions);
  const CardCase forward{.name = "project",
                         .leaves = {{2, size[0], size[1], size[2]}},
                         .run = [=](const Tensors& given) { return larmor::project(given[0], rays, 22, 25); },
                         .types = {at::kDouble, at::kFloat}};
  const CardCase adjoint{
      .name = "back_project",
      .leaves = {{2, static_cast<int64_t>(views.size()), 22, 25}},
      .run = [=](const Tensors& given) { return larmor::back_project(given[0], rays, size); },
      .types = {at::kDouble, at::kFloat}};
  expect_twin(forward);
  expect_twin(adjoint);
}

INSTANTIATE_TEST_SUITE_P(Orders, Twins,
                         ::testing::Values(Order{.kind = Order::forward}, Order{.kind = Order::reversed},
                                           Order{.kind = Order::shuffled}));

/// The names of all kernels in Larmor's sources for GPUs.
std::vector<std::string> kernels_of_sources() {
  static const std::regex definition(
      R"(__global__\s+void\s+(?:__launch_bounds__\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\()");
  std::vector<std::string> names;
  std::istringstream files(CUDA_SOURCES);
  for (std::string file; std::getline(files, file, ':');) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    const std::string words = std::regex_replace(text.str(), std::regex("//[^\n]*"), "");
    for (std::sregex_iterator found(words.begin(), words.end(), definition), end; found != end; ++found)
      names.push_back((*found)[1]);
  }
  return names;
}

/// When all tests have run, each kernel has been launched by one of them.
class EveryKernel final : public ::testing::Environment {
 public:
  void TearDown() override {
    const auto& tests = *::testing::UnitTest::GetInstance();
    if (tests.test_to_run_count() != tests.total_test_count()) return;
    const std::vector<std::string> names = kernels_of_sources();
    EXPECT_GE(names.size(), 10U);
    const auto launches = launches_by_kernel();
    for (const std::string& name : names) {
      const std::regex word("\\b" + name + "\\b");
      EXPECT_TRUE(
          std::ranges::any_of(launches, [&](const auto& of) { return std::regex_search(of.first, word); }))
          << name << ": no test of this program holds it to its twin";
    }
  }
};

[[maybe_unused]] const auto* const every_kernel = ::testing::AddGlobalTestEnvironment(new EveryKernel);

}  // namespace
}  // namespace cuda_on_cpu

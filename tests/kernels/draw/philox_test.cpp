#include "larmor/kernels/draw/philox.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/base/seed.h"
#include "larmor/device/meta/saved_bytes.h"

#include "tests/kernels/support/expect_twin.h"

namespace larmor::testing {
namespace {

constexpr uint64_t run_key = 0xFEDCBA9876543210;  // beyond what a signed integer holds
constexpr int64_t row_size = 700;                 // two groups of 256, and a part of one

at::Tensor three_streams() {
  return at::tensor({int64_t{5}, int64_t{-77}, int64_t{1} << 62}, at::TensorOptions(at::kLong));
}

/// The word of the generator that an element is made of, by the definition of base/philox.h.
uint32_t word_of(int64_t stream, int64_t element) {
  const int64_t block = element / 256 * 64 + element % 64;
  return philox({.key = run_key, .stream = static_cast<uint64_t>(stream)},
                static_cast<uint64_t>(block))[static_cast<size_t>(element % 256 / 64)];
}

/// Calls make(word) for each element of [3, row_size].
template <class Make>
at::Tensor by_hand(at::ScalarType type, Make make) {
  const at::Tensor numbers = at::empty({3, row_size}, type), streams = three_streams();
  for (int64_t row = 0; row < 3; ++row) {
    for (int64_t i = 0; i < row_size; ++i)
      numbers[row][i].fill_(make(word_of(streams[row].item<int64_t>(), i)));
  }
  return numbers;
}

TEST(Philox, UniformsAreTheUpperBitsOfTheWords) {
  const at::Tensor expected = by_hand(at::kFloat, [](uint32_t word) { return (word >> 8) * 0x1p-24; });
  EXPECT_TRUE(at::equal(philox_uniform(three_streams(), run_key, {3, row_size}), expected));
}

TEST(Philox, MasksKeepTheWordsBelowTheThreshold) {
  const uint64_t threshold = keep_threshold(0.9);
  const at::Tensor expected = by_hand(at::kBool, [&](uint32_t word) { return word < threshold; });
  EXPECT_TRUE(
      at::equal(philox_kept(three_streams(), run_key, {3, 7, 100}, threshold).view({3, row_size}), expected));
  EXPECT_NEAR(expected.to(at::kDouble).mean().item<double>(), 0.9, 0.02);
  EXPECT_TRUE(philox_kept(three_streams(), run_key, {3, row_size}, keep_threshold(1)).all().item<bool>());
  EXPECT_FALSE(philox_kept(three_streams(), run_key, {3, row_size}, keep_threshold(0)).any().item<bool>());
}

TEST(Philox, NormalsAreThoseOfTheCpuGenerator) {
  const at::Tensor streams = three_streams(), drawn = philox_normal(streams, run_key, {3, row_size});
  for (int64_t row = 0; row < 3; ++row) {
    std::vector<float> expected(row_size);
    fill_normal({.key = run_key, .stream = static_cast<uint64_t>(streams[row].item<int64_t>())}, expected);
    EXPECT_TRUE(at::equal(drawn[row], at::tensor(expected)));
  }
}

TEST(Philox, IntegersAreTheUpperHalfOfAProduct) {
  const at::Tensor streams = three_streams();
  for (const int64_t limit : {int64_t{1}, int64_t{1000}, (int64_t{1} << 62) + 12345}) {
    const at::Tensor drawn = philox_integers(streams, run_key, limit);
    for (int64_t row = 0; row < 3; ++row) {
      const auto words =
          philox({.key = run_key, .stream = static_cast<uint64_t>(streams[row].item<int64_t>())}, 0);
      const uint64_t word = (uint64_t{words[1]} << 32) | words[0];
      __extension__ using Wide = unsigned __int128;
      EXPECT_EQ(drawn[row].item<int64_t>(),
                static_cast<int64_t>((Wide{word} * static_cast<uint64_t>(limit)) >> 64));
    }
  }
}

TEST(Philox, EmptyTensorsAreMadeAsWell) {
  const at::Tensor none = at::empty({0}, at::kLong);
  EXPECT_EQ(philox_normal(none, run_key, {0, 4}).numel(), 0);
  EXPECT_EQ(philox_normal(three_streams(), run_key, {3, 0}).numel(), 0);
  EXPECT_EQ(philox_integers(none, run_key, 5).numel(), 0);
}

TEST(Philox, RowsThatAreNotThoseOfTheStreamsAreRefused) {
  EXPECT_THROW(philox_normal(three_streams(), run_key, {2, 4}), std::logic_error);
  EXPECT_THROW(philox_dropout(at::ones({2, 4}), three_streams(), run_key, 1, 1), std::logic_error);
  EXPECT_THROW(philox_dropout(at::ones({2, 4}, at::kMeta), three_streams().to(at::kMeta), run_key, 1, 1),
               std::logic_error);
}

TEST(Philox, OnTheMetaDeviceEverythingHasItsShapeAndType) {
  const at::Tensor streams = three_streams().to(at::kMeta);
  for (const auto& [drawn, type] : {std::pair(philox_normal(streams, run_key, {3, 2, 5}), at::kFloat),
                                    std::pair(philox_uniform(streams, run_key, {3, 2, 5}), at::kFloat),
                                    std::pair(philox_kept(streams, run_key, {3, 2, 5}, 9), at::kBool)}) {
    EXPECT_TRUE(drawn.is_meta());
    EXPECT_EQ(drawn.sizes(), at::IntArrayRef({3, 2, 5}));
    EXPECT_EQ(drawn.scalar_type(), type);
  }
  EXPECT_EQ(philox_integers(streams, run_key, 9).sizes(), at::IntArrayRef({3}));
}

TEST(Philox, DropoutIsItsTwin) {
  constexpr double keep = 0.7;
  const uint64_t threshold = keep_threshold(keep);
  const KernelFunction kernel = [&](const at::Tensor& input, const std::vector<at::Tensor>& others) {
    return philox_dropout(input, others[0], run_key, threshold, 1 / keep);
  };
  const KernelFunction twin = [&](const at::Tensor& input, const std::vector<at::Tensor>& others) {
    const at::Tensor kept = philox_kept(others[0], run_key, input.sizes(), threshold);
    return at::where(kept, input * (1 / keep), at::zeros({}, input.options()));
  };
  expect_twin(kernel, twin, {.sizes = {3, 4, 3, 2, 5}, .others = {three_streams()}});
  expect_twin(kernel, twin, {.sizes = {3, 7}, .others = {three_streams()}});
}

TEST(Philox, DropoutHasDerivativesOfEveryOrder) {
  const at::Tensor input = at::randn({3, 6}, at::kDouble).requires_grad_();
  const auto drop = [](const at::Tensor& value) {
    return philox_dropout(value, three_streams(), run_key, keep_threshold(0.5), 2);
  };
  const at::Tensor cube = drop(input).pow(3).sum();
  const at::Tensor first = torch::autograd::grad({cube}, {input}, {}, true, true).front();
  const at::Tensor second = torch::autograd::grad({first.sum()}, {input}).front();
  // d²/dx² of (2x)³ is 8 · 6x where x is kept.
  EXPECT_TRUE(at::allclose(second, 24 * drop(input.detach())));
}

TEST(Philox, DropoutKeepsNothingOfTheInputsSizeForBackward) {
  const at::Tensor input = at::ones({3, 1000}).requires_grad_(), streams = three_streams();
  const SavedBytes saved;
  const at::Tensor output = philox_dropout(input, streams, run_key, keep_threshold(0.5), 2);
  EXPECT_EQ(saved.bytes(), static_cast<int64_t>(streams.nbytes()));
  output.sum().backward();
  EXPECT_TRUE(at::equal(input.grad(), output.detach()))
      << "the gradient of the sum is the mask times the scale";
}

}  // namespace
}  // namespace larmor::testing

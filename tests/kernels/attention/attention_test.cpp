#include "larmor/kernels/attention/attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/device.h"
#include "larmor/device/meta/meta_kernels.h"
#include "larmor/device/meta/saved_bytes.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/kernels/support/expect_twin.h"
#include "tests/kernels/support/outputs_and_gradients.h"

namespace larmor::testing {
namespace {

using at::Tensor;
using Sizes = std::vector<int64_t>;

bool has_tiles() { return cpu_capability() == "AVX512" || cpu_capability() == "AVX2"; }

struct AttentionSize {
  int64_t samples, heads, queries, keys, width;
};
// One number a token, a task of few, tiles that are full and that are not, several tasks, parts and stretches
// of keys, every width of a product: 128 numbers are cut into stretches of 256 keys, 16 into stretches of
// 2048.
const AttentionSize attention_sizes[] = {{1, 1, 8, 64, 1},     {2, 3, 100, 70, 16},  {1, 2, 65, 9, 8},
                                         {2, 2, 65, 63, 7},    {1, 1, 300, 513, 40}, {1, 4, 320, 1024, 16},
                                         {1, 1, 64, 2500, 16}, {1, 2, 130, 700, 64}, {1, 1, 130, 1100, 128},
                                         {3, 1, 64, 64, 96},   {1, 5, 17, 200, 80},  {1, 9, 50, 300, 48}};

Tensor by_tiles(const Tensor& query, const Tensor& key, const Tensor& value) {
  return attention(query, key, value);
}
Tensor by_libtorch(const Tensor& query, const Tensor& key, const Tensor& value) {
  return at::scaled_dot_product_attention(query, key, value);
}
using Attend = Tensor(const Tensor&, const Tensor&, const Tensor&);

/// The softmax as it is written in books.
Tensor by_the_book(const Tensor& query, const Tensor& key, const Tensor& value) {
  const Tensor scores =
      at::matmul(query, key.transpose(2, 3)) / std::sqrt(static_cast<double>(query.size(3)));
  const Tensor powers = (scores - std::get<0>(scores.max(-1, /*keepdim=*/true))).exp();
  return at::matmul(powers / powers.sum(-1, /*keepdim=*/true), value);
}

Tensor drawn(const char* name, const AttentionSize& of, int64_t tokens, double spread = 1) {
  return draw_normal(5, name, Sizes{of.samples, of.heads, tokens, of.width}) * spread;
}

/// The output, and the gradients of queries, keys and values.
std::vector<Tensor> learn(Attend* attend, const AttentionSize& of, at::ScalarType type = at::kFloat,
                          double spread = 1) {
  const auto leaf = [&](const char* name, int64_t tokens) {
    return drawn(name, of, tokens, spread).to(type).requires_grad_();
  };
  const Tensor query = leaf("query", of.queries), key = leaf("key", of.keys), value = leaf("value", of.keys);
  const Tensor output = attend(query, key, value);
  output.backward(drawn("gradient", of, of.queries).to(type));
  return {output.detach(), query.grad(), key.grad(), value.grad()};
}

std::string text_of(const AttentionSize& of) {
  std::string text;
  for (const int64_t number : {of.samples, of.heads, of.queries, of.keys, of.width})
    text += std::to_string(number) + " ";
  return text;
}

TEST(Attention, IsThatOfTheBookWithItsGradients) {
  for (const AttentionSize& of : attention_sizes) {
    const auto exact = learn(by_the_book, of, at::kDouble);
    EXPECT_LT(most_apart(learn(by_tiles, of), exact), 1e-6) << text_of(of);
    EXPECT_LT(most_apart(learn(by_tiles, of, at::kDouble), exact), 1e-12) << text_of(of);
  }
}

TEST(Attention, IsAsExactAsLibtorchWhereScoresAreFarApart) {
  const AttentionSize of{1, 2, 130, 700, 32};
  const auto exact = learn(by_the_book, of, at::kDouble, 6);
  const double most = most_apart(learn(by_libtorch, of, at::kFloat, 6), exact);
  EXPECT_LT(most_apart(learn(by_tiles, of, at::kFloat, 6), exact), 2 * most);
}

TEST(Attention, RoundsBfloat16OnlyWhereItComesInAndGoesOut) {
  if (!has_tiles()) GTEST_SKIP() << "neither AVX-512 nor AVX2";
  for (const AttentionSize& of : attention_sizes) {
    const auto leaf = [&](const char* name, int64_t tokens, at::ScalarType type) {
      return drawn(name, of, tokens).to(at::kBFloat16).to(type).requires_grad_();
    };
    const auto learnt = [&](at::ScalarType type) {
      const Tensor query = leaf("query", of.queries, type), key = leaf("key", of.keys, type),
                   value = leaf("value", of.keys, type), output = attention(query, key, value);
      EXPECT_TRUE(is_attention_by_tiles(query, key, value));
      output.backward(drawn("gradient", of, of.queries).to(at::kBFloat16).to(type));
      return std::vector<Tensor>{output.detach(), query.grad(), key.grad(), value.grad()};
    };
    const auto narrow = learnt(at::kBFloat16), wide = learnt(at::kFloat);
    EXPECT_EQ(narrow[0].scalar_type(), at::kBFloat16);
    EXPECT_TRUE(narrow[0].equal(wide[0].to(at::kBFloat16))) << text_of(of);
    // Backward reads the output, which is rounded.
    for (const std::size_t i : {1U, 2U, 3U})
      EXPECT_LT(most_apart({narrow[i]}, {wide[i]}), 0.01) << text_of(of);
  }
}

TEST(Attention, IsItsTwinInEveryTypeAndLayout) {
  register_meta_kernels();
  const Tensor key = draw_normal(6, "key", {2, 3, 21, 24}).to(at::kDouble),
               value = draw_normal(6, "value", {2, 3, 21, 24}).to(at::kDouble);
  const auto by = [](Attend* attend) {
    return [attend](const Tensor& input, const std::vector<Tensor>& others) {
      // What libtorch returns lies otherwise from type to type.
      return attend(input, others[0].to(input.scalar_type()), others[1].to(input.scalar_type())).contiguous();
    };
  };
  expect_twin(by(by_tiles), by(by_libtorch),
              {.sizes = {2, 3, 25, 24},
               .others = {key, value},
               .tolerance = 1e-5,
               .types = {at::kFloat, at::kDouble, at::kHalf}});
  // libtorch rounds what lies between the products as well.
  expect_twin(by(by_tiles), by(by_libtorch),
              {.sizes = {2, 3, 25, 24},
               .others = {key, value},
               .is_differentiable = false,
               .tolerance = 0.02,
               .types = {at::kBFloat16}});
}

TEST(Attention, HasOnTheMetaDeviceTheShapesThatItHasOnCpus) {
  if (!has_tiles()) GTEST_SKIP() << "neither AVX-512 nor AVX2";
  const AttentionSize of{2, 3, 30, 20, 16};
  const auto shapes = [&](c10::Device device) {
    const auto call = c10::Dispatcher::singleton().findSchemaOrThrow("larmor::attention", "");
    const auto back = c10::Dispatcher::singleton().findSchemaOrThrow("larmor::attention_backward", "");
    const Tensor query = drawn("query", of, of.queries).to(device),
                 key = drawn("key", of, of.keys).to(device);
    c10::Stack stack{query, key, key};
    const at::NoGradGuard no_gradient;
    call.callBoxed(stack);
    c10::Stack then{query, query, key, key, stack[0], stack[1]};
    back.callBoxed(then);
    stack.insert(stack.end(), then.begin(), then.end());
    return stack;
  };
  const auto counted = shapes(at::kMeta), computed = shapes(at::kCPU);
  ASSERT_EQ(counted.size(), 5U);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    EXPECT_TRUE(counted[i].toTensor().is_meta());
    EXPECT_EQ(counted[i].toTensor().sizes(), computed[i].toTensor().sizes());
    EXPECT_EQ(counted[i].toTensor().strides(), computed[i].toTensor().strides());
  }
}

TEST(Attention, TakesTokensHoweverTheyLie) {
  const AttentionSize of{2, 3, 70, 70, 16};
  const Tensor whole = draw_normal(7, "tokens", {2, 70, 3 * 3 * 16}).requires_grad_();
  const auto parts = whole.chunk(3, -1);
  const auto heads = [](const Tensor& part) { return part.unflatten(2, {3, 16}).transpose(1, 2); };
  const Tensor plain =
      attention(heads(parts[0]).contiguous(), heads(parts[1]).contiguous(), heads(parts[2]).contiguous());
  const Tensor views = attention(heads(parts[0]), heads(parts[1]), heads(parts[2]));
  EXPECT_TRUE(views.equal(plain));
  EXPECT_TRUE(views.transpose(1, 2).is_contiguous());
  const auto reversed = [](const Tensor& tensor) {  // numbers of a token lie far apart
    return tensor.transpose(2, 3).contiguous().transpose(2, 3);
  };
  EXPECT_TRUE(attention(reversed(heads(parts[0])), reversed(heads(parts[1])), reversed(heads(parts[2])))
                  .equal(plain));
  const auto gradient_by = [&](const Tensor& output, const Tensor& gradient) {
    return torch::autograd::grad({output}, {whole}, {gradient})[0];
  };
  const Tensor gradient = drawn("gradient", of, of.queries);
  EXPECT_TRUE(gradient_by(views, reversed(gradient)).equal(gradient_by(plain, gradient)));
}

TEST(Attention, GivesTheSameBitsOnAnyNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const AttentionSize& of : attention_sizes) {
    at::set_num_threads(1);
    const auto alone = learn(by_tiles, of);
    for (const int count : {2, 3, 8}) {
      at::set_num_threads(count);
      EXPECT_TRUE(have_equal_bits(learn(by_tiles, of), alone)) << count << " threads, " << text_of(of);
    }
  }
  at::set_num_threads(before);
}

TEST(Attention, GivesASampleTheSameBitsAloneAndBesideOthers) {
  const AttentionSize of{3, 2, 100, 300, 16};
  const Tensor query = drawn("query", of, of.queries), key = drawn("key", of, of.keys),
               value = drawn("value", of, of.keys), all = attention(query, key, value);
  for (int64_t i = 0; i < of.samples; ++i) {
    const auto one = [i](const Tensor& tensor) { return tensor.narrow(0, i, 1); };
    EXPECT_TRUE(attention(one(query), one(key), one(value)).equal(one(all)));
  }
}

// From 449 keys on the gradient of queries is added up in parts, and how many depends on the samples.
TEST(Attention, GivesASampleTheSameGradientsAloneAndBesideOthersWhereKeysAreOnePart) {
  const AttentionSize of{3, 2, 100, 448, 16};
  const auto gradients = [](const Tensor& query, const Tensor& key, const Tensor& value) {
    const std::vector<Tensor> inputs = {query.detach().clone().requires_grad_(),
                                        key.detach().clone().requires_grad_(),
                                        value.detach().clone().requires_grad_()};
    attention(inputs[0], inputs[1], inputs[2]).square().sum().backward();
    return std::vector<Tensor>{inputs[0].grad(), inputs[1].grad(), inputs[2].grad()};
  };
  const Tensor query = drawn("query", of, of.queries), key = drawn("key", of, of.keys),
               value = drawn("value", of, of.keys);
  const auto all = gradients(query, key, value);
  for (int64_t i = 0; i < of.samples; ++i) {
    const auto one = [i](const Tensor& tensor) { return tensor.narrow(0, i, 1); };
    const auto alone = gradients(one(query), one(key), one(value));
    for (std::size_t which = 0; which < alone.size(); ++which)
      EXPECT_TRUE(alone[which].equal(one(all[which]))) << "of input " << which << ", sample " << i;
  }
}

TEST(Attention, KeepsWhatIsNoNumber) {
  const AttentionSize of{1, 1, 20, 100, 16};
  const Tensor query = drawn("query", of, of.queries), key = drawn("key", of, of.keys),
               value = drawn("value", of, of.keys);
  const auto with = [](const Tensor& tensor, float number) {
    Tensor changed = tensor.clone();
    changed[0][0][7][3] = number;
    return changed;
  };
  const float none = std::numeric_limits<float>::quiet_NaN(),
              infinite = std::numeric_limits<float>::infinity();
  const auto bad = [](const Tensor& output) { return output.isfinite().logical_not(); };
  EXPECT_EQ(bad(attention(with(query, none), key, value)).sum().item<int64_t>(), of.width);
  EXPECT_EQ(bad(attention(query, with(key, none), value)).sum().item<int64_t>(), of.queries * of.width);
  EXPECT_EQ(bad(attention(query, key, with(value, none))).sum().item<int64_t>(), of.queries);
  EXPECT_EQ(bad(attention(query, key, with(value, infinite))).sum().item<int64_t>(), of.queries);
  EXPECT_GT(bad(attention(query, with(key, infinite), value)).sum().item<int64_t>(), 0);
}

TEST(Attention, LeavesOthersToLibtorch) {
  const AttentionSize of{2, 2, 70, 80, 16}, wide{1, 1, 20, 20, 129};
  const Tensor query = drawn("query", of, of.queries), key = drawn("key", of, of.keys);
  EXPECT_EQ(is_attention_by_tiles(query, key, key), has_tiles());
  EXPECT_FALSE(is_attention_by_tiles(query.to(at::kDouble), key.to(at::kDouble), key.to(at::kDouble)));
  EXPECT_FALSE(is_attention_by_tiles(query.to(at::kMeta), key.to(at::kMeta), key.to(at::kMeta)));
  EXPECT_FALSE(is_attention_by_tiles(query.to(at::kHalf), key.to(at::kHalf), key.to(at::kHalf)));
  EXPECT_FALSE(is_attention_by_tiles(query.to(at::kBFloat16), key, key));
  EXPECT_FALSE(is_attention_by_tiles(query, key.narrow(0, 0, 1), key.narrow(0, 0, 1)));
  EXPECT_FALSE(is_attention_by_tiles(query, key.narrow(2, 0, 0), key.narrow(2, 0, 0)));
  EXPECT_FALSE(is_attention_by_tiles(query.narrow(0, 0, 0), key.narrow(0, 0, 0), key.narrow(0, 0, 0)));
  EXPECT_FALSE(is_attention_by_tiles(query, key.narrow(2, 0, 7), key.narrow(2, 0, 7)));
  EXPECT_FALSE(is_attention_by_tiles(query.narrow(2, 0, 8), key.narrow(2, 0, 60), key.narrow(2, 0, 60)));
  const Tensor rows = drawn("query", wide, wide.queries);
  EXPECT_FALSE(is_attention_by_tiles(rows, rows, rows));
  Tensor mask = at::ones({2, 1, 1, 80}, at::kBool);
  mask.narrow(3, 60, 20).zero_();
  EXPECT_TRUE(
      attention(query, key, key, mask).equal(at::scaled_dot_product_attention(query, key, key, mask)));
  const AutocastScope autocast(at::kCPU, Precision::bf16);
  EXPECT_FALSE(is_attention_by_tiles(query, key, key));
}

TEST(Attention, KeepsWhatLibtorchKeeps) {
  const AttentionSize of{2, 2, 70, 80, 16};
  const Tensor query = drawn("query", of, of.queries).requires_grad_(),
               key = drawn("key", of, of.keys).requires_grad_();
  const auto kept = [&](Attend* attend) {
    const SavedBytes saved;
    const Tensor output = attend(query, key, key);
    return saved.bytes();
  };
  EXPECT_EQ(kept(by_tiles), kept(by_libtorch));
}

TEST(Attention, HasASecondDerivative) {
  const AttentionSize of{1, 2, 30, 20, 8};
  const auto second = [&](Attend* attend, at::ScalarType type) {
    const auto leaf = [&](const char* name, int64_t tokens) {
      return drawn(name, of, tokens).to(type).requires_grad_();
    };
    const Tensor query = leaf("query", of.queries), key = leaf("key", of.keys),
                 value = leaf("value", of.keys);
    const Tensor output = attend(query, key, value).square().sum();
    const auto first = torch::autograd::grad({output}, {query, key, value}, {}, true, /*create_graph=*/true);
    const Tensor sum = first[0].square().sum() + first[1].square().sum() + first[2].square().sum();
    return torch::autograd::grad({sum}, {query, key, value});
  };
  EXPECT_LT(most_apart(second(by_tiles, at::kFloat), second(by_the_book, at::kDouble)), 1e-5);
}

}  // namespace
}  // namespace larmor::testing

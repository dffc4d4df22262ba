#include "tests/kernels/support/memory_cases.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <random>
#include <sstream>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include "larmor/device/autocast.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/layout.h"
#include "larmor/device/memory/poisoned_memory.h"
#include "larmor/kernels/convolution/conv2d.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/depthwise_conv.h"
#include "larmor/kernels/convolution/group_norm_silu_conv.h"
#include "larmor/kernels/convolution/upsample_conv.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/linear_layer.h"

namespace larmor::testing {
namespace memory_cases {
namespace {

using at::Tensor;
using Tensors = std::vector<Tensor>;
using PerAxis = std::array<int64_t, 3>;
using Run = std::function<Tensor(const Tensors&)>;

constexpr double most_multiplications = 2e7;  // of a case: milliseconds

enum class Type { fp32, bf16, bf16_by_autocast };

struct MemoryCase {
  std::vector<std::vector<int64_t>> leaves;
  Run run;
  double length;  // of the longest sum
  std::string words;
  Type type = Type::fp32;
  larmor::Layout layout = larmor::Layout::contiguous;
};

class Draw {
 public:
  explicit Draw(uint64_t index) : random_(index) {}
  int64_t of(const std::vector<int64_t>& choices) { return choices[random_() % choices.size()]; }
  int64_t within(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(random_() % static_cast<uint64_t>(last - first + 1));
  }
  bool one_in(uint64_t count) { return random_() % count == 0; }
  int64_t channels() { return of({1, 2, 3, 4, 8, 16, 16, 24, 32, 48, 64, 128, 130}); }

 private:
  std::mt19937_64 random_;
};

struct Form {
  int64_t samples, in, out;
  PerAxis image, kernel, stride, padding;
  bool has_bias;

  double multiplications() const {
    double all = static_cast<double>(samples * in * out);
    for (std::size_t i = 0; i < image.size(); ++i)
      all *= static_cast<double>(kernel[i] * (image[i] + 2 * padding[i])) / static_cast<double>(stride[i]);
    return all;
  }
  bool is_possible() const {
    for (std::size_t i = 0; i < image.size(); ++i)
      if (image[i] + 2 * padding[i] < kernel[i]) return false;
    return true;
  }
  double longest_sum() const {
    const auto product = [](const PerAxis& axes) { return static_cast<double>(axes[0] * axes[1] * axes[2]); };
    return std::max(product(kernel) * static_cast<double>(std::max(in, out)),
                    product(image) * static_cast<double>(samples));
  }
  std::vector<int64_t> input() const { return {samples, in, image[0], image[1], image[2]}; }
  std::vector<int64_t> weight() const { return {out, in, kernel[0], kernel[1], kernel[2]}; }
  std::string words() const {
    std::ostringstream words;
    words << samples << " x " << in << " to " << out << ", image " << at::IntArrayRef(image) << ", kernel "
          << at::IntArrayRef(kernel) << ", stride " << at::IntArrayRef(stride) << ", padding "
          << at::IntArrayRef(padding) << (has_bias ? ", bias" : "");
    return words.str();
  }
};

PerAxis draw_axes(Draw& draw, const std::vector<int64_t>& choices, uint64_t unequal_in) {
  PerAxis axes{draw.of(choices), draw.of(choices), draw.of(choices)};
  if (!draw.one_in(unequal_in)) axes = {axes[0], axes[0], axes[0]};
  return axes;
}

Form draw_form(Draw& draw) {
  for (;;) {
    Form form{};
    form.samples = draw.of({1, 1, 2, 3});
    form.in = draw.channels();
    form.out = draw.channels();
    form.kernel = draw_axes(draw, {1, 2, 3, 3, 3, 4, 5, 5, 7}, 4);
    form.stride = draw_axes(draw, {1, 1, 2, 2, 3, 4}, 4);
    for (std::size_t i = 0; i < form.image.size(); ++i) {
      form.image[i] = draw.one_in(3) ? draw.within(1, 20) : draw.within(1, 8);
      form.padding[i] = draw.one_in(8) ? draw.within(0, form.kernel[i] - 1) : form.kernel[i] / 2;
    }
    form.has_bias = !draw.one_in(4);
    if (form.is_possible() && form.multiplications() < most_multiplications) return form;
  }
}

MemoryCase convolution(Draw& draw) {
  const Form form = draw_form(draw);
  MemoryCase drawn{{form.input(), form.weight()}, {}, form.longest_sum(), "convolution " + form.words()};
  if (form.has_bias) drawn.leaves.push_back({form.out});
  drawn.run = [form](const Tensors& of) {
    return conv3d(of[0], of[1], form.has_bias ? of[2] : Tensor(), form.stride, form.padding);
  };
  return drawn;
}

/// Strides of their own along each axis, windows that leave out voxels, rows of the result of more than a
/// few: what AMX computes by kernels of its own.
Form draw_strided_form(Draw& draw) {
  for (;;) {
    Form form = draw_form(draw);
    for (std::size_t i = 0; i < form.image.size(); ++i) {
      form.kernel[i] = draw.within(1, 5);
      form.stride[i] = draw.within(1, 4);
      form.padding[i] = draw.one_in(2) ? form.kernel[i] / 2 : draw.within(0, form.kernel[i] - 1);
      const int64_t results =
          i + 1 < form.image.size() ? draw.of({1, 2, 3, 5}) : draw.of({5, 6, 8, 12, 17, 32});
      form.image[i] = std::max<int64_t>(1, (results - 1) * form.stride[i] + form.kernel[i] -
                                               2 * form.padding[i] + draw.within(0, form.stride[i] - 1));
    }
    if (form.is_possible() && form.multiplications() < most_multiplications) return form;
  }
}

MemoryCase strided_convolution(Draw& draw) {
  const Form form = draw_strided_form(draw);
  MemoryCase drawn{{form.input(), form.weight(), {form.out}},
                   {},
                   form.longest_sum(),
                   "strided convolution " + form.words()};
  drawn.run = [form](const Tensors& of) { return conv3d(of[0], of[1], of[2], form.stride, form.padding); };
  return drawn;
}

MemoryCase flat_convolution(Draw& draw) {
  Form form = draw_form(draw);
  form.image[0] = form.kernel[0] = form.stride[0] = 1;
  form.padding[0] = 0;
  const auto flat = [](const std::vector<int64_t>& sizes) {
    return std::vector<int64_t>{sizes[0], sizes[1], sizes[3], sizes[4]};
  };
  MemoryCase drawn{
      {flat(form.input()), flat(form.weight())}, {}, form.longest_sum(), "flat convolution " + form.words()};
  if (form.has_bias) drawn.leaves.push_back({form.out});
  const auto order = draw.one_in(2) ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
  drawn.run = [form, order](const Tensors& of) {
    return conv2d(of[0].contiguous(order), of[1], form.has_bias ? of[2] : Tensor(),
                  {form.stride[1], form.stride[2]}, {form.padding[1], form.padding[2]});
  };
  return drawn;
}

MemoryCase normed_convolution(Draw& draw) {
  Form form = draw_form(draw);
  constexpr int64_t groups = 4;
  form.in = groups * draw.of({1, 2, 4, 8});
  MemoryCase drawn{{form.input(), form.weight(), {form.in}, {form.in}, {form.out}},
                   {},
                   form.longest_sum(),
                   "normed convolution " + form.words()};
  drawn.run = [form](const Tensors& of) {
    return group_norm_silu_conv(of[0], {.groups = groups, .weight = of[2], .bias = of[3], .epsilon = 0.1},
                                of[1], of[4], form.stride, form.padding);
  };
  return drawn;
}

MemoryCase upsampling(Draw& draw) {
  Form form{};
  do {
    form = draw_form(draw);
    form.kernel = {3, 3, 3};
    form.stride = form.padding = {1, 1, 1};
  } while (8 * form.multiplications() > most_multiplications);
  MemoryCase drawn{
      {form.input(), form.weight(), {form.out}}, {}, 8 * form.longest_sum(), "upsampling " + form.words()};
  drawn.run = [](const Tensors& of) { return upsample_conv(of[0], of[1], of[2]); };
  return drawn;
}

MemoryCase linear(Draw& draw) {
  const int64_t rows = draw.within(1, 600), in = draw.within(1, 300), out = draw.within(1, 300);
  MemoryCase drawn{{{rows, in}, {out, in}, {out}}, {}, static_cast<double>(std::max({rows, in, out})), ""};
  std::ostringstream words;
  words << "linear layer, " << rows << " rows of " << in << " to " << out;
  drawn.words = words.str();
  drawn.run = [](const Tensors& of) { return linear_layer(of[0], of[1], of[2]); };
  return drawn;
}

MemoryCase pooling(Draw& draw) {
  const Form form = draw_form(draw);
  const int64_t window = draw.within(1, 3), step = draw.within(1, 3), around = draw.within(0, window / 2);
  const bool takes_most = draw.one_in(2);
  MemoryCase drawn{
      {form.input()}, {}, static_cast<double>(window * window * window), "pooling " + form.words()};
  drawn.run = [=](const Tensors& of) {
    const Tensor wide = at::constant_pad_nd(of[0], {1, 1, 1, 1, 1, 1});
    if (takes_most) return at::max_pool3d(wide, window, step, around);
    const bool is_half = wide.scalar_type() == at::kBFloat16;  // for which libtorch has no means on a CPU
    return at::avg_pool3d(is_half ? wide.to(at::kFloat) : wide, window, step, around);
  };
  return drawn;
}

MemoryCase depthwise(Draw& draw) {
  const int64_t samples = draw.within(1, 3), channels = 4 * draw.within(1, 12), height = draw.within(1, 16),
                width = draw.within(1, 16);
  MemoryCase drawn{{{samples, channels, height, width}, {channels, 1, 7, 7}, {channels}},
                   {},
                   static_cast<double>(std::max<int64_t>(49, samples * height * width)),
                   ""};
  std::ostringstream words;
  words << "depthwise convolution, " << samples << " x " << channels << ", " << height << " x " << width;
  drawn.words = words.str();
  drawn.run = [](const Tensors& of) {
    return depthwise_conv(of[0].contiguous(at::MemoryFormat::ChannelsLast), of[1], of[2]);
  };
  return drawn;
}

MemoryCase draw_case(uint64_t index) {
  Draw draw(index);
  using Make = MemoryCase(Draw&);
  constexpr std::array<Make*, 12> operators{
      convolution, convolution,        convolution, convolution, convolution,         linear,
      pooling,     normed_convolution, depthwise,   upsampling,  strided_convolution, flat_convolution};
  MemoryCase drawn = operators[index % operators.size()](draw);
  const std::vector<Type> types =
      has_bf16() ? std::vector{Type::fp32, Type::bf16, Type::bf16_by_autocast, Type::bf16_by_autocast}
                 : std::vector{Type::fp32};
  drawn.type = types[static_cast<std::size_t>(draw.within(0, static_cast<int64_t>(types.size()) - 1))];
  drawn.layout = draw.one_in(2) ? larmor::Layout::contiguous : larmor::Layout::channels_last;
  return drawn;
}

/// Numbers that bfloat16 has, so that only what is computed with them is rounded.
Tensor drawn_numbers(uint64_t index, const std::string& name, at::IntArrayRef sizes) {
  return draw_normal(index, name, sizes).to(at::kBFloat16).to(at::kFloat);
}

Tensors leaves_of(uint64_t index, const MemoryCase& of, at::ScalarType type) {
  Tensors leaves;
  for (const auto& sizes : of.leaves) {
    const Tensor numbers = drawn_numbers(index, std::to_string(leaves.size()), sizes);
    leaves.push_back(at::empty(sizes, type).copy_(numbers).requires_grad_());
  }
  return leaves;
}

/// The output, and the gradient of each leaf.
Tensors computed(uint64_t index, const MemoryCase& of, at::ScalarType type, Precision precision) {
  const Tensors leaves = leaves_of(index, of, type);
  Tensor output;
  {
    const AutocastScope autocast(at::kCPU, precision);
    const LayoutScope layout(of.layout);
    output = of.run(leaves);
  }
  Tensors all{output.detach()};
  const Tensor slopes = drawn_numbers(index, "slopes", output.sizes());
  for (const Tensor& found :
       torch::autograd::grad({output}, {leaves.begin(), leaves.end()}, {slopes.to(output.scalar_type())}))
    all.push_back(found);
  return all;
}

/// Of what is rounded at random at each step of a sum, where each term is about one.
double tolerance(const MemoryCase& of, const Tensor& wanted) {
  constexpr double of_float = 0x1p-24, of_bfloat16 = 0x1p-8;
  const double steps = std::sqrt(of.length);
  const double operators = of.words.starts_with("normed") ? 2 : 1;  // each rounds what it gives
  const double relative = operators * (of.type == Type::fp32 ? 8 * steps * of_float : 4 * of_bfloat16);
  return relative * (wanted.norm().item<double>() + std::sqrt(static_cast<double>(wanted.numel())));
}

std::optional<std::string> fault_of(uint64_t index, const MemoryCase& of) {
  const Tensors wanted = computed(index, of, at::kDouble, Precision::fp64);
  Tensors found;
  int64_t overrun = 0;
  {
    const PoisonedMemory poisoned;
    found = computed(index, of, of.type == Type::bf16 ? at::kBFloat16 : at::kFloat,
                     of.type == Type::bf16_by_autocast ? Precision::bf16 : Precision::fp32);
    overrun = poisoned.overrun();
  }
  std::ostringstream faults;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double apart = (found[i].to(at::kDouble) - wanted[i]).norm().item<double>();
    if (!(apart <= tolerance(of, wanted[i])))
      faults << (i == 0 ? " output" : " gradient of leaf " + std::to_string(i - 1)) << " is " << apart
             << " from " << wanted[i].norm().item<double>() << ";";
  }
  if (overrun > 0) faults << " " << overrun << " blocks were written beside;";
  if (faults.str().empty()) return std::nullopt;
  constexpr std::array<const char*, 3> types{"float32", "bfloat16", "bfloat16 by autocast"};
  std::ostringstream words;
  words << "case " << index << ", " << types[static_cast<std::size_t>(of.type)] << ", "
        << (of.layout == larmor::Layout::contiguous ? "channels first, " : "channels last, ") << of.words
        << ":" << faults.str();
  return words.str();
}

}  // namespace
}  // namespace memory_cases

bool has_bf16() { return one_dnn_computes(at::kBFloat16); }

std::optional<std::string> fault_of_memory_case(uint64_t index) {
  return memory_cases::fault_of(index, memory_cases::draw_case(index));
}

std::optional<std::string> fault_of_strided_case(uint64_t index) {
  using namespace memory_cases;
  Draw draw(index);
  MemoryCase drawn = strided_convolution(draw);
  drawn.type = has_bf16() ? Type::bf16 : Type::fp32;
  drawn.layout = larmor::Layout::channels_last;
  return fault_of(index, drawn);
}

std::optional<std::string> fault_of_libtorch_case(uint64_t index) {
  using namespace memory_cases;
  Draw draw(index);
  const Form form = draw_form(draw);
  MemoryCase drawn{
      {form.input(), form.weight()}, {}, form.longest_sum(), "libtorch's convolution " + form.words()};
  drawn.type = has_bf16() ? Type::bf16 : Type::fp32;
  drawn.run = [form](const Tensors& of) {
    if (of[0].scalar_type() == at::kDouble) return at::conv3d(of[0], of[1], {}, form.stride, form.padding);
    return at::mkldnn_convolution(of[0], of[1], std::nullopt, form.padding, form.stride, {1, 1, 1}, 1);
  };
  return fault_of(index, drawn);
}

}  // namespace larmor::testing

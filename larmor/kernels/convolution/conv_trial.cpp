#include "larmor/kernels/convolution/conv_trial.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/record_function.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/memory/poisoned_memory.h"
#include "larmor/device/trial_record.h"
#include "larmor/kernels/draw/draw.h"

namespace larmor {
namespace {

using at::Tensor;
using PerAxis = std::array<int64_t, 3>;

constexpr uint64_t seed = 75;
constexpr double most_multiplications = 1 << 25;  // of one of three products: milliseconds
constexpr int64_t most_in_float64 = 1 << 20, fewest_places = 16;

std::atomic<uint32_t> faulty_paths{0};

uint32_t bit_of(ConvPath path) { return 1U << static_cast<uint32_t>(path); }

constexpr std::array<std::pair<ConvPath, std::string_view>, 6> names{
    {{ConvPath::libtorch, "libtorch"},
     {ConvPath::one_dnn, "oneDNN"},
     {ConvPath::padded, "padded"},
     {ConvPath::columns, "columns"},
     {ConvPath::wide_columns, "columns-in-float32"},
     {ConvPath::winograd, "winograd"}}};

std::string name_of(ConvPath path) {
  return std::string(
      std::find_if(names.begin(), names.end(), [&](const auto& of) { return of.first == path; })->second);
}

std::optional<ConvPath> path_named(std::string_view name) {
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const auto& of) { return of.second == name; });
  return found == names.end() ? std::nullopt : std::optional(found->first);
}

PerAxis result_of(const Conv3dForm& form, const ConvSizes& sizes) {
  PerAxis result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = (sizes.image[i] + 2 * form.padding[i] - sizes.kernel[i]) / form.stride[i] + 1;
  return result;
}

double volume(const PerAxis& axes) { return static_cast<double>(axes[0] * axes[1] * axes[2]); }

double multiplications(const Conv3dForm& form, const ConvSizes& sizes) {
  return static_cast<double>(sizes.samples * sizes.in * sizes.out) * volume(sizes.kernel) *
         volume(result_of(form, sizes));
}

/// Fewer samples, slices and rows of a large one. Kernels go over them one by one; rows along the last axis
/// and channels, which they take in blocks, stay, and so do slices and rows within the reach of either
/// border.
ConvSizes to_try(const Conv3dForm& form, ConvSizes sizes) {
  sizes.samples = std::min<int64_t>(sizes.samples, 2);
  const auto fewest = [&](std::size_t axis) { return 2 * sizes.kernel[axis] + form.stride[axis]; };
  while (multiplications(form, sizes) > most_multiplications) {
    const std::size_t longer = sizes.image[0] - fewest(0) > sizes.image[1] - fewest(1) ? 0 : 1;
    if (sizes.image[longer] <= fewest(longer)) break;
    sizes.image[longer] = std::max(fewest(longer), sizes.image[longer] / 2);
  }
  return sizes;
}

std::string describe(const Conv3dForm& form, const ConvSizes& sizes) {
  const auto axes = [](const PerAxis& of) { return text(of[0], "x", of[1], "x", of[2]); };
  return text(sizes.samples, " volumes of ", sizes.in, " channels and ", axes(sizes.image), " to ", sizes.out,
              " channels, kernel ", axes(sizes.kernel), ", stride ", axes(form.stride), ", padding ",
              axes(form.padding), ", ", form.type == at::kFloat ? "float32" : "bfloat16", ", ",
              form.within == Layout::contiguous ? "channels first" : "channels last");
}

/// One number beside its sum in float64.
struct Sum {
  double value = 0, squares = 0;
  int64_t terms = 0;
  void add(double left, double right) {
    const double product = left * right;
    value += product;
    squares += product * product;
    ++terms;
  }
};

/// A convolution and its gradients as they are written, number by number.
class Written {
 public:
  Written(const Conv3dForm& form, const ConvSizes& sizes, const Tensor& volumes, const Tensor& kernel,
          const Tensor& bias, const Tensor& slopes)
      : form_(form), sizes_(sizes), result_(result_of(form, sizes)) {
    const auto numbers = [](const Tensor& of) { return of.to(at::kFloat).contiguous(); };
    volumes_ = numbers(volumes);
    kernel_ = numbers(kernel);
    bias_ = numbers(bias);
    slopes_ = numbers(slopes);
    x_ = volumes_.const_data_ptr<float>();
    w_ = kernel_.const_data_ptr<float>();
    g_ = slopes_.const_data_ptr<float>();
  }

  /// Places count as in contiguous memory.
  Sum result(int64_t place) const {
    const auto [n, o, at] = apart(place, sizes_.out, result_);
    Sum sum;
    sum.add(bias_.const_data_ptr<float>()[o], 1);
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const auto seen = seen_by(at, tap);
      if (!seen) continue;
      for (int64_t c = 0; c < sizes_.in; ++c)
        sum.add(x_[together(n, c, sizes_.in, sizes_.image, *seen)], w_[(o * sizes_.in + c) * taps() + tap]);
    }
    return sum;
  }

  Sum of_volumes(int64_t place) const {
    const auto [n, c, at] = apart(place, sizes_.in, sizes_.image);
    Sum sum;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      const auto seeing = seeing_by(at, tap);
      if (!seeing) continue;
      for (int64_t o = 0; o < sizes_.out; ++o)
        sum.add(g_[together(n, o, sizes_.out, result_, *seeing)], w_[(o * sizes_.in + c) * taps() + tap]);
    }
    return sum;
  }

  Sum of_kernel(int64_t place) const {
    const int64_t tap = place % taps(), c = place / taps() % sizes_.in, o = place / taps() / sizes_.in;
    Sum sum;
    for (int64_t n = 0; n < sizes_.samples; ++n) {
      for (int64_t i = 0; i < positions(); ++i) {
        const PerAxis at = apart(i, 1, result_).at;
        const auto seen = seen_by(at, tap);
        if (seen)
          sum.add(x_[together(n, c, sizes_.in, sizes_.image, *seen)],
                  g_[(n * sizes_.out + o) * positions() + i]);
      }
    }
    return sum;
  }

  Sum of_bias(int64_t place) const {
    Sum sum;
    for (int64_t n = 0; n < sizes_.samples; ++n)
      for (int64_t i = 0; i < positions(); ++i) sum.add(g_[(n * sizes_.out + place) * positions() + i], 1);
    return sum;
  }

  int64_t taps() const { return sizes_.kernel[0] * sizes_.kernel[1] * sizes_.kernel[2]; }
  int64_t positions() const { return result_[0] * result_[1] * result_[2]; }

 private:
  struct Place {
    int64_t sample, channel;
    PerAxis at;
  };
  static Place apart(int64_t place, int64_t channels, const PerAxis& axes) {
    const PerAxis at{place / (axes[2] * axes[1]) % axes[0], place / axes[2] % axes[1], place % axes[2]};
    const int64_t outer = place / (axes[0] * axes[1] * axes[2]);
    return {outer / channels, outer % channels, at};
  }
  static int64_t together(int64_t sample, int64_t channel, int64_t channels, const PerAxis& axes,
                          const PerAxis& at) {
    return (((sample * channels + channel) * axes[0] + at[0]) * axes[1] + at[1]) * axes[2] + at[2];
  }
  PerAxis tap_at(int64_t tap) const { return apart(tap, 1, sizes_.kernel).at; }
  std::optional<PerAxis> seen_by(const PerAxis& at, int64_t tap) const {
    PerAxis seen = tap_at(tap);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      seen[i] += at[i] * form_.stride[i] - form_.padding[i];
      if (seen[i] < 0 || seen[i] >= sizes_.image[i]) return std::nullopt;
    }
    return seen;
  }
  std::optional<PerAxis> seeing_by(const PerAxis& at, int64_t tap) const {
    PerAxis seeing = tap_at(tap);
    for (std::size_t i = 0; i < seeing.size(); ++i) {
      const int64_t steps = at[i] + form_.padding[i] - seeing[i];
      seeing[i] = steps / form_.stride[i];
      if (steps < 0 || steps % form_.stride[i] != 0 || seeing[i] >= result_[i]) return std::nullopt;
    }
    return seeing;
  }

  const Conv3dForm& form_;
  ConvSizes sizes_;
  PerAxis result_;
  Tensor volumes_, kernel_, bias_, slopes_;
  const float *x_ = nullptr, *w_ = nullptr, *g_ = nullptr;
};

/// Whether each number is one, and those at places all over the tensor are near their sums in float64: each
/// term is rounded a few times in the type of the form, and sums in float32.
template <class SumAt>
bool is_near(const Tensor& found, at::ScalarType type, int64_t terms, const SumAt& sum_at) {
  const Tensor numbers = found.to(at::kFloat).contiguous();
  const auto* const all = numbers.const_data_ptr<float>();
  const int64_t count = numbers.numel();
  if (!std::all_of(all, all + count, [](float number) { return std::isfinite(number); })) return false;
  const int64_t places =
      std::min(count, std::max(fewest_places, most_in_float64 / std::max<int64_t>(1, terms)));
  for (int64_t i = 0; i < places; ++i) {
    constexpr uint64_t far_apart = 0x9E3779B97F4A7C15;
    const auto place =
        places == count
            ? i
            : static_cast<int64_t>(static_cast<uint64_t>(i) * far_apart % static_cast<uint64_t>(count));
    const Sum sum = sum_at(place);
    const double relative = type == at::kFloat
                                ? 0x1p-18 * std::sqrt(static_cast<double>(std::max<int64_t>(1, sum.terms)))
                                : 0x1p-6;
    const double apart = std::abs(static_cast<double>(all[place]) - sum.value);
    if (!(apart <= relative * (std::abs(sum.value) + std::sqrt(sum.squares)))) return false;
  }
  return true;
}

/// What is wrong with the form on this CPU; empty where nothing is.
std::string fault_of(const Conv3dForm& form, const ConvSizes& sizes) {
  const PerAxis result = result_of(form, sizes);
  const auto numbers = [&](const char* name, at::IntArrayRef shape) {
    return draw_normal(seed, name, shape).to(form.type);
  };
  Tensor volumes, kernel, bias, slopes, output, of_volumes, of_kernel, of_bias;
  int64_t overrun = 0;
  try {
    const PoisonedMemory poisoned;
    volumes = volumes_for(
        form, numbers("volumes", {sizes.samples, sizes.in, sizes.image[0], sizes.image[1], sizes.image[2]}));
    kernel = kernel_for(
        form, numbers("kernel", {sizes.out, sizes.in, sizes.kernel[0], sizes.kernel[1], sizes.kernel[2]}));
    bias = numbers("bias", {sizes.out});
    slopes = numbers("slopes", {sizes.samples, sizes.out, result[0], result[1], result[2]});
    output = convolved(form, volumes, kernel, bias);
    std::tie(of_volumes, of_kernel, of_bias) =
        convolved_gradients(form, slopes, volumes, kernel, {true, true, true});
    overrun = poisoned.overrun();
  } catch (const c10::Error& error) {
    return text("libtorch refuses it: ", error.what_without_backtrace());
  }
  const Written written(form, sizes, volumes, kernel, bias, slopes);
  const int64_t sums = sizes.samples * written.positions();
  if (!is_near(output, form.type, written.taps() * sizes.in, [&](int64_t i) { return written.result(i); }))
    return "the result is wrong";
  if (!is_near(of_volumes, form.type, written.taps() * sizes.out,
               [&](int64_t i) { return written.of_volumes(i); }))
    return "the gradient of the image is wrong";
  if (!is_near(of_kernel, form.type, sums, [&](int64_t i) { return written.of_kernel(i); }))
    return "the gradient of the weight is wrong";
  if (!is_near(of_bias, form.type, sums, [&](int64_t i) { return written.of_bias(i); }))
    return "the gradient of the bias is wrong";
  return overrun > 0 ? "memory beside a tensor was written to" : "";
}

Conv3dForm by(ConvPath path, Conv3dForm form) {
  if (path == form.path) return form;
  form.path = path;
  form.within = path == ConvPath::padded ? form.layout : Layout::channels_last;
  return form;
}

std::vector<ConvPath> paths_of(const Conv3dForm& form) {
  std::vector<ConvPath> paths{form.path};
  for (const ConvPath other : {ConvPath::padded, ConvPath::columns, ConvPath::wide_columns}) {
    const bool is_same = other == ConvPath::wide_columns && form.type == at::kFloat;
    if (other != form.path && !is_same) paths.push_back(other);
  }
  return paths;
}

ConvPath try_paths(const Conv3dForm& form, const ConvSizes& sizes) {
  const at::NoGradGuard keeps_nothing;
  const at::DisableRecordFunctionGuard in_no_profile;
  std::string first_fault;
  for (const ConvPath path : paths_of(form)) {
    const std::string fault = fault_of(by(path, form), sizes);
    if (!fault.empty()) {
      if (first_fault.empty()) first_fault = fault;
      continue;
    }
    if (path != form.path) {
      log::warning(text("A convolution by ", name_of(form.path), " is not right on this CPU (", first_fault,
                        "): ", describe(form, sizes), ". It is computed by ", name_of(path), " instead."));
    }
    return path;
  }
  fail(Exit::environment,
       text("no way to compute a convolution is right on this CPU (", first_fault,
            "): ", describe(form, sizes)),
       form.type == at::kFloat ? "report it, with what larmor doctor says" : "say train.precision=fp32");
}

}  // namespace

Conv3dForm tried_form(TrialRecord& record, Conv3dForm form, const ConvSizes& sizes) {
  const ConvSizes of_trial = to_try(form, sizes);
  const std::string tried =
      text(describe(form, of_trial), ", by ", name_of(form.path), ", ", at::get_num_threads(), " threads",
           faulty_paths.load() == 0 ? "" : ", planted fault");
  if (const auto outcome = record.outcome(tried))
    if (const auto path = path_named(*outcome)) return by(*path, form);
  const ConvPath path = try_paths(form, of_trial);
  record.keep(tried, name_of(path));
  return by(path, form);
}

PlantedConvFault::PlantedConvFault(const std::vector<ConvPath>& paths) {
  uint32_t bits = 0;
  for (const ConvPath path : paths) bits |= bit_of(path);
  faulty_paths = bits;
}

PlantedConvFault::~PlantedConvFault() { faulty_paths = 0; }

Tensor with_planted_fault(ConvPath path, const Tensor& result) {
  if ((faulty_paths.load(std::memory_order_relaxed) & bit_of(path)) == 0) return result;
  const Tensor faulty = result.clone();
  faulty.select(0, 0).select(0, 0).select(0, 0).select(0, 0).select(0, 0).copy_(
      at::empty({}, result.options()));
  return faulty;
}

}  // namespace larmor

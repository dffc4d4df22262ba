#include "larmor/measure/bf16_probe.h"

#include <algorithm>
#include <ctime>
#include <limits>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/group_norm_silu_conv.h"

namespace larmor {
namespace {

constexpr int probe_turns =
    9;  // the first, in which oneDNN makes its code, never counts: it is not the least

at::Tensor learnt(at::IntArrayRef sizes, double value) { return at::full(sizes, value).requires_grad_(); }

/// A residual block: group norm, SiLU and a convolution, added to what comes in.
struct Block {
  explicit Block(int64_t channels)
      : kernel(learnt({channels, channels, 3, 3, 3}, 1e-3)),
        shift(learnt({channels}, 0)),
        norm{.groups = 8, .weight = learnt({channels}, 1), .bias = shift, .epsilon = 1e-5} {}

  at::Tensor forward(const at::Tensor& input) const {
    return input + group_norm_silu_conv(input, norm, kernel, shift, {1, 1, 1}, {1, 1, 1});
  }

  at::Tensor kernel, shift;
  GroupNormWeights norm;
};

/// Of this thread alone: the time that other programs take from it does not count.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The upper levels of an encoder, which take most of a step: a block of few channels, a convolution in steps
/// of two, a block of more channels on a smaller grid.
class Encoder {
 public:
  double seconds(Precision precision) const {
    const at::AutoGradMode with_gradients(true);
    const LayoutScope layout(Layout::channels_last);
    const double started = processor_seconds();
    at::Tensor end;
    {
      const AutocastScope autocast(at::kCPU, precision);
      const at::Tensor shrunk =
          conv3d(large_.forward(volume_), steps_of_two_, at::Tensor(), {2, 2, 2}, {1, 1, 1});
      end = small_.forward(shrunk);
    }
    end.sum().backward();
    return processor_seconds() - started;
  }

 private:
  static constexpr int64_t few = 16, more = 32, edge = 24;
  at::Tensor volume_ = learnt({1, few, edge, edge, edge}, 1),
             steps_of_two_ = learnt({more, few, 3, 3, 3}, 1e-3);
  Block large_{few}, small_{more};
};

/// libtorch computes on one thread while it lives. With several, and another process on the same cores,
/// threads would wait for one another.
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { at::set_num_threads(1); }
  ~OneThread() { at::set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

double measured_bf16_speedup() {
  const OneThread one_thread;
  const Encoder encoder;
  double least_wide = std::numeric_limits<double>::infinity(), least_narrow = least_wide;
  for (int turn = 0; turn < probe_turns; ++turn) {
    least_wide = std::min(least_wide, encoder.seconds(Precision::fp32));
    least_narrow = std::min(least_narrow, encoder.seconds(Precision::bf16));
  }
  return least_wide / least_narrow;
}

}  // namespace larmor

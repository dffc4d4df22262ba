// How often a training step brings volumes from one order in memory into another, in the layout that the plan
// chooses on a CPU: reorders that oneDNN logs, and copies of libtorch's between two orders of strides.
// Kernels of convolutions are laid out in every step (docs/decisions/0048). Volumes are left as they are, but
// for two kinds: what enters a network, and the gradient that leaves its loss, where what they meet is
// contiguous; and convolutions of many channels over short rows, which kernels/convolution/conv3d.cpp
// computes in contiguous order because they are faster there with all their reorders (docs/measurements.md,
// "Convolutions of short rows").
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/verbose_wrapper.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"
#include "larmor/nn/networks/resnet.h"
#include "larmor/plan/plan.h"

namespace larmor::nn {
namespace {

/// No network here has so many channels, nor a multiple of it: what begins with it is of volumes.
constexpr int64_t examples = 3;

/// Of one step.
struct Counts {
  int convolutions = 0;  // forward, and each gradient of one, by oneDNN and by loops of our own
  int products = 0;      // of matrices, by oneDNN: convolutions over short rows in bf16 among them
  int of_kernels = 0;
  int of_short_rows = 0;   // of volumes that a convolution over short rows reads or gives, by either library
  int others = 0;          // of other volumes
  std::string words = {};  // of the others, one line each, for people

  /// dimensions [N, C, D, H, W]. Strides of a short convolution are 1 or 2, so that it reads rows of twice 4
  /// voxels at most.
  void add_volume(const std::vector<int64_t>& dimensions, const std::string& how) {
    constexpr int64_t many_channels = 128, longest_row = 8;
    const bool is_short =
        dimensions.size() == 5 && dimensions[1] >= many_channels && dimensions[4] <= longest_row;
    (is_short ? of_short_rows : others) += 1;
    if (!is_short) words += how + "\n";
  }
};

/// "onednn_verbose,v1,primitive,exec,cpu,reorder,<kernel>,<kind>,<formats>,<attributes>,,3x16x8x8x8,0.1"
void count_line(const std::string& line, Counts& counts) {
  const std::vector<std::string> fields = split(line, ',');
  if (fields.size() < 12 || fields[0] != "onednn_verbose" || fields[3] != "exec") return;
  const std::string& primitive = fields[5];
  if (primitive == "convolution" || primitive == "deconvolution") counts.convolutions += 1;
  if (primitive == "matmul") counts.products += 1;
  if (primitive != "reorder") return;
  std::vector<int64_t> dimensions;
  for (const std::string& size : split(fields[fields.size() - 2], 'x'))
    dimensions.push_back(std::stoll(size));
  if (dimensions.size() > 1 && dimensions[0] % examples == 0)
    counts.add_volume(dimensions, line);
  else
    counts.of_kernels += 1;
}

/// Whether a copy between the two takes numbers that lie side by side apart.
bool changes_order(const at::Tensor& to, const at::Tensor& from) {
  if (to.dim() != 5 || from.dim() != 5 || to.size(0) != examples || to.sizes() != from.sizes()) return false;
  int64_t last_to = 0, last_from = 0;
  for (int64_t axis = 0; axis < to.dim(); ++axis) {
    if (to.size(axis) == 1) continue;
    if (from.stride(axis) == 0) return false;  // one number for all: nothing lies anywhere
    if (to.stride(axis) == 1) last_to = axis;
    if (from.stride(axis) == 1) last_from = axis;
  }
  return last_to != last_from;
}

/// Where copies are counted; null outside CopyWatch. Backward runs on the thread that asks for it.
thread_local Counts* counted = nullptr;

/// Convolutions that oneDNN does not log, since loops of our own compute them.
int own_convolutions_of(const std::string& name) {
  return name == "larmor::winograd_conv" ? 1 : name == "larmor::winograd_conv_backward" ? 2 : 0;
}

/// Looks at each operator that this thread calls, also from within another, and hands it on.
void see_operator(const c10::OperatorHandle& called, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  if (counted != nullptr) counted->convolutions += own_convolutions_of(called.operator_name().name);
  if (counted != nullptr && called.operator_name().name == "aten::copy_") {
    const auto inputs = torch::jit::last(*stack, called.schema().arguments().size());
    const at::Tensor &to = inputs[0].toTensor(), &from = inputs[1].toTensor();
    if (changes_order(to, from)) {
      std::ostringstream words;
      words << "copy of " << from.sizes() << " from strides " << from.strides() << " to " << to.strides();
      counted->add_volume(from.sizes().vec(), words.str());
    }
  }
  constexpr auto own_key = c10::DispatchKey::TESTING_ONLY_GenericMode;
  called.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, own_key), stack);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&see_operator>());
}

/// Counts copies of libtorch's on this thread while it lives.
class CopyWatch {
 public:
  explicit CopyWatch(Counts& counts) : key_(c10::DispatchKey::TESTING_ONLY_GenericMode) { counted = &counts; }
  ~CopyWatch() { counted = nullptr; }
  CopyWatch(const CopyWatch&) = delete;
  CopyWatch& operator=(const CopyWatch&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard key_;
};

/// Of forward and backward of what `loss` gives.
Counts count_step(Precision precision, Layout layout, const std::function<at::Tensor()>& loss) {
  Counts counts;
  const AutocastScope autocast(c10::kCPU, precision);
  const LayoutScope scope(layout);
  torch::verbose::_mkldnn_set_verbose(1);
  ::testing::internal::CaptureStdout();
  {
    const CopyWatch watch(counts);
    loss().backward();
  }
  const std::string log = ::testing::internal::GetCapturedStdout();
  torch::verbose::_mkldnn_set_verbose(0);
  for (const std::string& line : split(log, '\n')) count_line(line, counts);
  return counts;
}

/// What the plan says on a CPU of this kind, whose bf16 is fast where the precision is bf16.
Layout planned_layout(const std::string& precision) {
  Hardware hardware;
  hardware.cores = {0, 1};
  hardware.machine_cores = hardware.physical_cores = 2;
  Demand demand;
  demand.training_examples = 8;
  RunConfig config;
  config.train.precision = precision;
  return make_plan(hardware, demand, config).layout;
}

/// A network and the loss of three of its examples.
struct Stepped {
  const char* name;
  std::function<at::Tensor()> loss;
  int entering;  // volumes that are brought into the layout where they enter, or their loss's gradient
  int short_convolutions;  // of 128 channels and more, both ways, whose rows of results are 4 voxels at most
};

std::vector<Stepped> steps() {
  torch::manual_seed(5);
  AutoencoderKl autoencoder(AutoencoderKlOptions{.channels = {16, 32, 64},
                                                 .num_res_blocks = {1},
                                                 .attention_levels = {false, false, true},
                                                 .latent_channels = 4,
                                                 .norm_num_groups = 8});
  DiffusionUnet unet(DiffusionUnetOptions{.in_channels = 4,
                                          .out_channels = 4,
                                          .channels = {32, 64, 64},
                                          .num_res_blocks = {1},
                                          .attention_levels = {false, false, true},
                                          .num_head_channels = {0, 0, 32}});
  ResNet narrow(ResNetOptions{.widen_factor = 0.25}), whole(ResNetOptions{});
  const auto images = at::randn({examples, 1, 32, 32, 32}), latents = at::randn({examples, 4, 16, 16, 16});
  const auto noise = at::randn({examples, 4, 8, 8, 8}), target = at::randn({examples, 4, 16, 16, 16});
  return {
      {"autoencoder",
       [=]() mutable {
         const auto out = autoencoder->forward(images, noise);
         return at::l1_loss(out.reconstruction, images) + 1e-6 * (out.mean.pow(2) + out.sigma.pow(2)).sum();
       },
       0, 0},
      {"ResNet-18 with a quarter of its channels",
       [=]() mutable { return narrow->forward(images).pow(2).sum(); }, 0, 3},
      {"ResNet-18", [=]() mutable { return whole->forward(images).pow(2).sum(); }, 0, 8},
      {"diffusion U-Net",
       [=]() mutable {
         return at::mse_loss(unet->forward(latents, at::tensor({3.0F, 500.0F, 900.0F})), target);
       },
       2, 0},  // the noisy latents, and what the loss gives beside a contiguous target
  };
}

void expect_needed_reorders_only(Precision precision) {
  const Layout layout = planned_layout(to_text(precision));
  ASSERT_EQ(layout, Layout::channels_last);
  // Into oneDNN's blocks and out of them, in two steps each, of what forward and both gradients read and
  // give.
  constexpr int most_a_short_convolution = 11;
  for (const auto& [name, loss, entering, short_convolutions] : steps()) {
    const Counts counts = count_step(precision, layout, loss);
    const int computed = counts.convolutions + counts.products;
    EXPECT_GT(computed, 50) << name << ": some convolutions have not been counted";
    EXPECT_GT(counts.of_kernels, 0) << name << ": oneDNN has not logged what it did";
    EXPECT_EQ(counts.others, entering) << name << ":\n" << counts.words;
    EXPECT_LE(counts.of_short_rows, most_a_short_convolution * short_convolutions) << name;
    EXPECT_LE(counts.of_kernels, 2 * computed) << name << ": a kernel, or a bias, of each";
    const Counts contiguous = count_step(precision, Layout::contiguous, loss);
    EXPECT_GT(contiguous.others + contiguous.of_short_rows, contiguous.convolutions)
        << name << " in the other layout, where each convolution brings volumes into blocks";
  }
}

TEST(Reorders, OfVolumesInAStepAreThoseThatAreNeeded) {
  if (!__builtin_cpu_supports("avx512f"))
    GTEST_SKIP() << "oneDNN's kernels for other CPUs take volumes in orders of their own";
  expect_needed_reorders_only(Precision::fp32);
}

TEST(Reorders, OfVolumesInAStepInBf16AreThoseThatAreNeeded) {
  if (!__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "this CPU computes bf16 by other kernels";
  expect_needed_reorders_only(Precision::bf16);
}

}  // namespace
}  // namespace larmor::nn

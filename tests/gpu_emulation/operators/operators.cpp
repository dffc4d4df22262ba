// The arithmetic of emulated GPUs: every operator that has a kernel for CUDA gets one that computes on the
// CPU, over the same memory. Results become new tensors of the card, so that libtorch's own allocator,
// streams and guards see what they would see. What only gives views, or only allocates, keeps libtorch's
// kernel. Larmor's own operators are among them: their kernels for CUDA are not in the program that runs
// here.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/EmptyTensor.h>
#include <ATen/ops/copy_native.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "tests/gpu_emulation/operators/computation.h"
#include "tests/gpu_emulation/operators/host_views.h"
#include "tests/gpu_emulation/operators/recorded.h"

namespace emulated {
namespace {

using c10::IValue;
using c10::OperatorHandle;
using Names = std::unordered_set<std::string_view>;
using Stack = torch::jit::Stack;

constexpr auto cuda = c10::DispatchKey::CUDA;

/// Operators that take tensors of several devices.
bool mixes_devices(std::string_view name) {
  static const Names mixing{"aten::index",
                            "aten::index_put_",
                            "aten::_unsafe_index",
                            "aten::_index_put_impl_",
                            "aten::copy_",
                            "aten::_foreach_copy_",
                            "aten::_amp_foreach_non_finite_check_and_unscale_"};
  return mixing.contains(name);
}

/// The device that a call computes on. Throws where tensors are on several, as libtorch's kernels do.
c10::Device device_of(const OperatorHandle& op, const std::vector<IValue>& arguments) {
  std::optional<c10::Device> device;
  std::optional<c10::Device> other;
  for (const IValue& argument : arguments) {
    if (argument.isDevice() && argument.toDevice().is_cuda()) device = argument.toDevice();
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (!tensor.is_cuda()) {
        if (tensor.dim() > 0) other = tensor.device();  // a number of the host may be anywhere
        return;
      }
      if (device && *device != tensor.device() && tensor.dim() > 0) other = tensor.device();
      if (!device) device = tensor.device();
    });
  }
  if (!device || !device->has_index()) device = c10::Device(c10::kCUDA, at::cuda::current_device());
  TORCH_CHECK(!other || mixes_devices(op.operator_name().name),
              "Expected all tensors to be on the same device, but found at least two devices, ", *device,
              " and ", *other, "! (", op.operator_name(), ")");
  return *device;
}

/// Whether a card's kernel makes the host wait: for a number that it gives, or for how large its result is.
bool makes_host_wait(const OperatorHandle& op, const std::vector<IValue>& arguments) {
  static const Names waiting{"aten::_local_scalar_dense", "aten::equal",    "aten::nonzero",
                             "aten::masked_select",       "aten::_unique2", "aten::unique_dim",
                             "aten::unique_consecutive",  "aten::bincount"};
  static const Names indexing{"aten::index", "aten::_unsafe_index"};  // by a mask, whose places are counted
  const std::string_view name = op.operator_name().name;
  return waiting.contains(name) || (indexing.contains(name) && holds_mask(arguments.at(1)));
}

void compute(const OperatorHandle& op, Stack* stack, bool in_float32) {
  const auto count = static_cast<std::ptrdiff_t>(op.schema().arguments().size());
  const std::vector<IValue> arguments(stack->end() - count, stack->end());
  Call call{op, arguments, device_of(op, arguments), in_float32};
  const c10::DeviceGuard guard(call.device);
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(call.device.index()).stream();
  const bool waits = makes_host_wait(op, arguments);
  check_recordable(call, stream, waits);
  Work work(stream, op.operator_name().name.c_str());
  take_draws(call);
  Results results(call.device);
  const Stack given = perform(call, work, results);
  if (work.is_captured()) record(work, call, results);
  if (waits) {
    ++counters().copies_to_host;
    cudaStreamSynchronize(stream);
  }
  stack->erase(stack->end() - count, stack->end());
  stack->insert(stack->end(), given.begin(), given.end());
}

bool lacks_narrow_kernel(const std::string& message) {
  return message.find("not implemented for 'Half'") != std::string::npos ||
         message.find("not implemented for 'BFloat16'") != std::string::npos;
}

void compute_on_host(const OperatorHandle& op, Stack* stack) {
  // oneDNN's 16-bit convolutions of small images are wrong, and write beyond their end.
  static const Names in_float32{"aten::convolution", "aten::convolution_backward"};
  if (in_float32.contains(op.operator_name().name)) return compute(op, stack, /*in_float32=*/true);
  try {
    compute(op, stack, /*in_float32=*/false);
  } catch (const c10::Error& error) {
    if (!lacks_narrow_kernel(error.what_without_backtrace())) throw;
    compute(op, stack, /*in_float32=*/true);
  }
}

/// Between host and card, and between cards, libtorch's own way is taken: it ends in copies of bytes, with
/// the waits and events that a card needs.
void copy(const OperatorHandle& op, Stack* stack) {
  const auto arguments = torch::jit::last(*stack, 3);
  at::Tensor to = arguments[0].toTensor();
  const at::Tensor from = arguments[1].toTensor();
  if (to.device() == from.device()) return compute_on_host(op, stack);
  at::native::copy_(to, from, arguments[2].toBool());
  torch::jit::drop(*stack, 3);
  stack->emplace_back(to);
}

/// Memory that was handed out holds poison until something is written: numbers of such bytes are none.
at::Tensor poisoned(at::Tensor tensor) {
  if (tensor.numel() == 0) return tensor;
  const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(tensor.get_device()).stream();
  settle(stream);
  hand_out(stream, tensor.const_data_ptr(), tensor.storage().nbytes());
  poison(tensor.const_data_ptr(), tensor.storage().nbytes());
  return tensor;
}

at::Tensor empty(at::IntArrayRef sizes, std::optional<at::ScalarType> type, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pinned,
                 std::optional<at::MemoryFormat> format) {
  return poisoned(at::detail::empty_cuda(sizes, type, layout, device, pinned, format));
}

at::Tensor empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, std::optional<at::ScalarType> type,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pinned) {
  return poisoned(at::detail::empty_strided_cuda(sizes, strides, type, layout, device, pinned));
}

bool gives_view(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) return true;
  }
  return false;
}

bool keeps_kernel(std::string_view name) {
  static const Names kept{"aten::resize_",
                          "aten::set_",
                          "aten::record_stream",
                          "aten::is_set_to",
                          "aten::is_pinned",
                          "aten::_pin_memory",
                          "aten::_efficientzerotensor",
                          "aten::_cslt_compress",
                          "aten::_empty_affine_quantized"};
  return kept.contains(name);
}

/// Operators of all devices that choose a backend by the device, below the dispatcher.
bool chooses_backend(std::string_view name) {
  static const Names choosing{"aten::convolution", "aten::convolution_backward", "aten::copy_"};
  return choosing.contains(name);
}

std::optional<c10::KernelFunction> kernel_for(const OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  if (!name.starts_with("aten::") && !name.starts_with("larmor::")) return std::nullopt;
  if (name == "aten::copy_") return c10::KernelFunction::makeFromBoxedFunction<&copy>();
  if (op.operator_name() == c10::OperatorName("aten::empty", "memory_format")) {
    return c10::KernelFunction::makeFromUnboxedRuntimeFunction(&empty);
  }
  if (name == "aten::empty_strided")
    return c10::KernelFunction::makeFromUnboxedRuntimeFunction(&empty_strided);
  if (!chooses_backend(name)) {
    if (!op.hasKernelForDispatchKey(cuda) || keeps_kernel(name) || gives_view(op.schema()))
      return std::nullopt;
  }
  if (!op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU))
    return std::nullopt;  // it is refused when launched
  return c10::KernelFunction::makeFromBoxedFunction<&compute_on_host>();
}

/// An operator whose function for CUDA stays: it is asked for before that, and computes by it.
void compute_by_own_kernels(const OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  if (keys.has(cuda)) return compute_on_host(op, stack);
  constexpr c10::DispatchKeySet after(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect);
  op.redispatchBoxed(keys & after, stack);
}

class Silence : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

bool replace_kernels() {
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard quiet(
      &silence);  // each registration warns that it replaces one
  auto& dispatcher = c10::Dispatcher::singleton();
  auto* const handles = new std::vector<c10::RegistrationHandleRAII>;  // they stay to the end of the process
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    if (has_own_kernels(*op)) {
      handles->push_back(
          dispatcher.registerImpl(name, c10::DispatchKey::BackendSelect,
                                  c10::KernelFunction::makeFromBoxedFunction<&compute_by_own_kernels>(),
                                  std::nullopt, nullptr, "emulated GPU"));
      continue;
    }
    if (auto kernel = kernel_for(*op)) {
      handles->push_back(
          dispatcher.registerImpl(name, cuda, std::move(*kernel), std::nullopt, nullptr, "emulated GPU"));
    }
  }
  // What chooses its kernel below the dispatcher is kept from choosing one of NVIDIA's libraries.
  auto& context = at::globalContext();
  context.setUserEnabledCuDNN(false);
  context.setSDPUseFlash(false);
  context.setSDPUseMemEfficient(false);
  context.setSDPUseCuDNN(false);
  return true;
}

[[maybe_unused]] const bool replaced = replace_kernels();

}  // namespace
}  // namespace emulated

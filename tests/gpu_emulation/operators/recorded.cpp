#include "tests/gpu_emulation/operators/recorded.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDAException.h>

#include "tests/gpu_emulation/operators/host_views.h"

namespace emulated {
namespace {

using c10::IValue;

/// Memory that a graph uses and that is not its own: whoever launches it has to keep it.
struct Borrowed {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  const void* address = nullptr;
  size_t bytes = 0;
};

/// What a graph keeps of tensors of a card: where their numbers are. The memory is not theirs.
class Ghosts {
 public:
  IValue of(const IValue& value) {
    if (value.isTensor()) return of(value.toTensor());
    if (!value.isList()) return value;
    auto list = value.toList().copy();
    for (size_t i = 0; i < list.size(); ++i) list.set(i, of(list.get(i)));
    return list;
  }
  at::Tensor of(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    // Kernels get a number of the host when they are captured.
    const at::Tensor ghost = tensor.is_cuda() ? over_the_same_memory(tensor) : tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      ghost.unsafeGetTensorImpl()->set_wrapped_number(true);
    return ghost;
  }
  std::vector<Borrowed> take_borrowed() { return std::move(borrowed_); }

 private:
  at::Tensor over_the_same_memory(const at::Tensor& tensor) {
    auto ghost = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage_of(tensor)), c10::DispatchKeySet(c10::DispatchKey::CUDA), tensor.dtype());
    ghost.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                       tensor.storage_offset());
    if (tensor.is_conj()) ghost._set_conj(true);
    if (tensor.is_neg()) ghost._set_neg(true);
    return ghost;
  }
  /// One for each storage: views of it stay views.
  const c10::Storage& storage_of(const at::Tensor& tensor) {
    const c10::Storage& storage = tensor.storage();
    c10::Storage& ghost = storages_[storage.unsafeGetStorageImpl()];
    if (ghost) return ghost;
    ghost = c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
                         c10::DataPtr(storage.mutable_data(), tensor.device()), /*allocator=*/nullptr,
                         /*resizable=*/false);
    if (storage.nbytes() > 0 && !is_of_a_graph(storage.data())) {
      borrowed_.push_back({storage.getWeakStorageImpl(), storage.data(), storage.nbytes()});
    }
    return ghost;
  }

  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_;
  std::vector<Borrowed> borrowed_;
};

struct RecordedCall {
  Call call;
  std::vector<at::Tensor> results;
  std::vector<Borrowed> borrowed;

  const char* name() const { return call.op.operator_name().name.c_str(); }
};

/// Other tensors may be there by now, or nothing may: a card reads and writes there all the same.
void check_borrowed(const RecordedCall& recorded) {
  for (const auto& [storage, address, bytes] : recorded.borrowed) {
    const auto held = storage.lock();
    if (held && held->data() == address && held->nbytes() >= bytes) continue;
    std::fprintf(stderr,
                 "emulated GPU: a graph was launched whose %s uses %zu bytes of memory that was given back\n",
                 recorded.name(), bytes);
    std::abort();
  }
}

/// Whether a card counts the places of a mask first, and the host waits for how many they are. One number of
/// the host is put by a mask as it is.
bool puts_by_mask(const Call& call) {
  const auto& name = call.op.operator_name().name;
  if (name != "aten::index_put_" && name != "aten::_index_put_impl_") return false;
  const at::Tensor values = call.arguments.at(2).toTensor();
  return holds_mask(call.arguments.at(1)) && (values.is_cuda() || call.arguments.at(3).toBool());
}

/// Whether a card copies a tensor of the host to itself first. Numbers of the host come with the kernel.
bool reads_host(const Call& call) {
  const bool is_by_index = call.op.operator_name().name.find("index") != std::string::npos;
  bool found = false;
  for (const IValue& argument : call.arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) {
      found = found || (!tensor.is_cuda() && (tensor.dim() > 0 || is_by_index));
    });
  }
  return found && !(is_by_index && holds_mask(call.arguments.at(1)));
}

void repeat(const RecordedCall& recorded, cudaStream_t stream) {
  check_borrowed(recorded);
  const c10::DeviceGuard guard(recorded.call.device);
  Work work(stream, recorded.name());
  Results results(recorded.call.device, recorded.results);
  perform(recorded.call, work, results);
}

}  // namespace

void check_recordable(const Call& call, cudaStream_t stream, bool makes_host_wait) {
  if (!is_captured(stream)) return;
  const auto& name = call.op.operator_name().name;
  if (makes_host_wait || puts_by_mask(call))
    C10_CUDA_CHECK(refuse_in_capture(stream, name + " makes the host wait"));
  if (reads_host(call)) C10_CUDA_CHECK(refuse_in_capture(stream, name + " copies a tensor of the host"));
  C10_CUDA_CHECK(error_of_capture(stream));
}

void record(Work& work, const Call& call, const Results& results) {
  const at::AutoDispatchBelowADInplaceOrView below;
  Ghosts ghosts;
  auto recorded = std::make_shared<RecordedCall>(RecordedCall{call, {}, {}});
  for (IValue& argument : recorded->call.arguments) argument = ghosts.of(argument);
  for (const at::Tensor& result : results.all()) recorded->results.push_back(ghosts.of(result));
  recorded->borrowed = ghosts.take_borrowed();
  work.record([recorded](cudaStream_t stream) { repeat(*recorded, stream); });
}

}  // namespace emulated

#include "tests/gpu_emulation/operators/host_views.h"

#include <cstring>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAStream.h>

namespace emulated {
namespace {

bool is_narrow(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16; }

size_t bytes_needed(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize(),
                                          static_cast<size_t>(tensor.storage_offset()));
}

at::Tensor tensor_over(const c10::Storage& storage, c10::DispatchKey key, const at::Tensor& like) {
  auto tensor =
      at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  return tensor;
}

template <class Convert>
c10::IValue each_element(const c10::IValue& value, const Convert& convert) {
  auto list = value.toList().copy();
  for (size_t i = 0; i < list.size(); ++i) list.set(i, convert(list.get(i)));
  return list;
}

}  // namespace

size_t extent_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  return bytes_needed(tensor) - static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize();
}

bool holds_mask(const c10::IValue& value) {
  bool found = false;
  for_each_tensor(value, [&](const at::Tensor& tensor) { found |= tensor.scalar_type() == at::kBool; });
  return found;
}

c10::IValue HostViews::to_host(const c10::IValue& value, bool is_written) {
  if (value.isTensor()) return view_of(value.toTensor(), is_written);
  if (value.isDevice() && value.toDevice().is_cuda()) return c10::Device(c10::kCPU);
  if (value.isList()) {
    return each_element(value, [&](const c10::IValue& element) { return to_host(element, is_written); });
  }
  return value;
}

c10::IValue HostViews::to_device(const c10::IValue& value) {
  if (value.isTensor()) return bring_back(value.toTensor());
  if (value.isList()) {
    return each_element(value, [&](const c10::IValue& element) { return to_device(element); });
  }
  return value;
}

void HostViews::write_back() {
  for (const auto& [original, seen] : pairs_) {
    if (original.sizes() != seen.sizes()) {
      const void* const before = original.storage().data();
      original.resize_(seen.sizes());
      if (original.storage().data() != before) {
        hand_out(c10::cuda::getCurrentCUDAStream(original.get_device()).stream(), original.storage().data(),
                 original.storage().nbytes());
      }
      // An operator that gives its output a size writes it as it computes: no copy, for which the host would
      // wait.
      work_.writes(original.const_data_ptr(), extent_of(original));
      same_bytes(original).copy_(seen);
    } else if (original.scalar_type() != seen.scalar_type()) {
      same_bytes(original).copy_(seen);
    }
  }
}

at::Tensor HostViews::view_of(const at::Tensor& tensor, bool is_written) {
  if (!tensor.defined() || !tensor.is_cuda()) return tensor;
  is_written ? work_.writes(tensor.const_data_ptr(), extent_of(tensor))
             : work_.reads(tensor.const_data_ptr(), extent_of(tensor));
  const auto known = views_.find(tensor.unsafeGetTensorImpl());
  if (known != views_.end()) return known->second;
  at::Tensor seen;
  if (tensor.numel() == 0) {
    seen = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));  // operators may resize it
  } else {
    seen = same_bytes(tensor);
    if (in_float32_ && is_narrow(seen.scalar_type())) {
      narrow_ = seen.scalar_type();
      seen = seen.to(at::kFloat);
    }
  }
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) seen.unsafeGetTensorImpl()->set_wrapped_number(true);
  views_.emplace(tensor.unsafeGetTensorImpl(), seen);
  originals_.emplace(seen.unsafeGetTensorImpl(), tensor);
  pairs_.emplace_back(tensor, seen);
  return seen;
}

at::Tensor HostViews::same_bytes(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  TORCH_CHECK(bytes_needed(tensor) <= storage.nbytes() || tensor.numel() == 0,
              "emulated GPU: an operator uses a tensor of ", tensor.sizes(),
              " whose memory was given back: its storage has ", storage.nbytes(), " bytes, and ",
              bytes_needed(tensor), " are needed");
  c10::Storage& seen = storages_[storage.unsafeGetStorageImpl()];
  if (!seen) {
    seen = c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
                        c10::DataPtr(host_address(storage.data()), c10::kCPU), /*allocator=*/nullptr,
                        /*resizable=*/false);
    owners_.emplace(seen.unsafeGetStorageImpl(), tensor);
  }
  at::Tensor view = tensor_over(seen, c10::DispatchKey::CPU, tensor);
  if (tensor.is_conj()) view._set_conj(true);
  if (tensor.is_neg()) view._set_neg(true);
  return view;
}

at::Tensor HostViews::bring_back(const at::Tensor& result) {
  if (!result.defined() || !result.is_cpu()) return result;
  const auto known = originals_.find(result.unsafeGetTensorImpl());
  if (known != originals_.end()) return known->second;
  if (narrow_ != at::kFloat && result.scalar_type() == at::kFloat) return bring_back(result.to(narrow_));
  const auto owner = owners_.find(result.storage().unsafeGetStorageImpl());
  if (owner != owners_.end()) return tensor_over(owner->second.storage(), c10::DispatchKey::CUDA, result);
  const at::Tensor made = results_.next(result);
  work_.writes(made.const_data_ptr(), extent_of(made));
  std::memcpy(host_address(made.const_data_ptr()), result.const_data_ptr(), extent_of(made));
  return made;
}

}  // namespace emulated

#include "larmor/device/tensors/tensor_storage.h"

#include <ATen/native/Resize.h>

#include "larmor/device/cuda/cuda.h"

namespace larmor {
namespace {

void resize_memory(const at::Tensor& tensor, size_t bytes) {
  c10::StorageImpl* const storage = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  if (tensor.is_cuda()) {
    cuda::resize_bytes(storage, bytes);
  } else {
    at::native::resize_bytes_cpu(storage, bytes);
  }
}

}  // namespace

void release_memory(const at::Tensor& tensor) { resize_memory(tensor, 0); }

void restore_memory(const at::Tensor& tensor) {
  const int64_t elements = tensor.storage_offset() + tensor.numel();
  resize_memory(tensor, static_cast<size_t>(elements) * tensor.element_size());
}

}  // namespace larmor

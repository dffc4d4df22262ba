#include "larmor/device/device_constant.h"

#include <mutex>
#include <utility>
#include <vector>

#include <ATen/ops/empty_strided.h>

#include "larmor/device/send.h"

namespace larmor {

struct DeviceConstant::Copies {
  at::Tensor host;
  std::function<at::Tensor()> make;
  std::mutex mutex;
  std::vector<at::Tensor> there;
};

DeviceConstant::DeviceConstant(const at::Tensor& host) : copies_(std::make_shared<Copies>()) {
  copies_->host = host;
}

DeviceConstant::DeviceConstant(std::function<at::Tensor()> make) : copies_(std::make_shared<Copies>()) {
  copies_->make = std::move(make);
}

at::Tensor DeviceConstant::host() const {
  const std::lock_guard guard(copies_->mutex);
  if (!copies_->host.defined()) copies_->host = copies_->make();
  return copies_->host;
}

at::Tensor DeviceConstant::like(const at::Tensor& like) const {
  return on(like.device(), like.scalar_type());
}

at::Tensor DeviceConstant::on(c10::Device device, c10::ScalarType type) const {
  const at::Tensor host = this->host();
  if (device.is_meta())
    return at::empty_strided(host.sizes(), host.strides(), host.options().device(device).dtype(type));
  if (device == host.device() && type == host.scalar_type()) return host;
  const std::lock_guard guard(copies_->mutex);
  for (const at::Tensor& copy : copies_->there) {
    if (copy.device() == device && copy.scalar_type() == type) return copy;
  }
  return copies_->there.emplace_back(send(host.to(type), device));
}

}  // namespace larmor

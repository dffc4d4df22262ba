// Numbers of the host that never change, on the devices that compute with them.
#pragma once

#include <functional>
#include <memory>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Keeps one copy for each device and type that has asked, so that no step sends them again. Copies of a
/// constant share them. Thread-safe.
class DeviceConstant {
 public:
  DeviceConstant() = default;
  /// Requires: nobody changes `host` from here on.
  explicit DeviceConstant(const at::Tensor& host);
  /// `make` gives it when somebody first asks, so that who is made to be counted need not hold it.
  explicit DeviceConstant(std::function<at::Tensor()> make);

  at::Tensor host() const;
  /// The value on the device and in the type of `like`; shapes alone on the meta device.
  at::Tensor like(const at::Tensor& like) const;
  at::Tensor on(c10::Device device, c10::ScalarType type) const;

 private:
  struct Copies;
  std::shared_ptr<Copies> copies_;
};

}  // namespace larmor

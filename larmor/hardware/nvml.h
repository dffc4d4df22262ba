// NVML, the driver's own library: opened at run time, so that one program runs with and without a driver. The
// declarations are the few that are needed; NVML keeps its binary interface.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

namespace larmor {

class Nvml {
 public:
  using Device = void*;
  using EventSet = void*;
  static constexpr int success = 0, no_permission = 4, gpu_is_lost = 15;
  static constexpr unsigned long long xid_events = 8;
  using TextBuffer = std::array<char, 96>;  // the longest that NVML asks for
  struct Memory {
    unsigned long long total, free, used;
  };
  struct PciAddress {
    std::array<char, 16> old_address;
    unsigned domain, bus, device, device_id, subsystem_id;
    std::array<char, 32> address;  // "00000000:65:00.0"
  };
  struct Event {
    Device device;
    unsigned long long kind, data;  // of xid_events the data is the number of the Xid
    unsigned gpu_instance, compute_instance;
  };

  explicit Nvml(const std::string& library);

  bool is_open() const { return handle_ != nullptr; }
  /// Whether all is there that finding GPUs needs. Events and slowing may be missing all the same.
  bool is_complete() const { return is_complete_; }
  bool has_events() const { return has_events_; }
  std::string explain(int status) const;

  /// NVML's bits for what holds a GPU's clocks down: heat, the hardware's protection, the power supply. Idle
  /// GPUs and power limits are left out. 0 where NVML does not tell.
  uint64_t slowing_of(Device device) const;
  /// How many processes compute on it; 0 where NVML does not tell.
  int processes_on(Device device) const;
  /// "too hot", "the power supply asks for it"; "" for none.
  static std::string slowing_message(uint64_t reasons);
  /// "Xid 79 (the GPU has fallen off the bus)". Source: NVIDIA, XID Errors, r580.
  static std::string xid_message(uint64_t number);

  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*device_count)(unsigned*) = nullptr;
  int (*device_by_index)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
  int (*capability)(Device, int*, int*) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*pci_address)(Device, PciAddress*) = nullptr;
  int (*driver_version)(char*, unsigned) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*slowing)(Device, unsigned long long*) = nullptr;
  int (*mig_mode)(Device, unsigned* now, unsigned* after_restart) = nullptr;
  int (*compute_mode)(Device, int*) = nullptr;
  int (*running)(Device, unsigned* count, void* processes) = nullptr;
  int (*make_events)(EventSet*) = nullptr;
  int (*register_events)(Device, unsigned long long, EventSet) = nullptr;
  int (*wait_for_event)(EventSet, Event*, unsigned milliseconds) = nullptr;
  int (*free_events)(EventSet) = nullptr;

 private:
  static void close(void* handle);
  template <class Function>
  bool find(const char* symbol, Function& function);

  std::unique_ptr<void, void (*)(void*)> handle_;
  bool is_complete_ = false, has_events_ = false;
};

}  // namespace larmor

#include "larmor/hardware/nvml.h"

#include <utility>
#include <vector>

#include <dlfcn.h>

#include "larmor/base/text.h"

namespace larmor {

Nvml::Nvml(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), close) {
  if (!handle_) return;
  is_complete_ =
      find("nvmlInit_v2", init) && find("nvmlShutdown", shutdown) &&
      find("nvmlDeviceGetCount_v2", device_count) && find("nvmlDeviceGetHandleByIndex_v2", device_by_index) &&
      find("nvmlDeviceGetName", name) && find("nvmlDeviceGetMemoryInfo", memory) &&
      find("nvmlDeviceGetCudaComputeCapability", capability) && find("nvmlDeviceGetUUID", uuid) &&
      find("nvmlDeviceGetPciInfo_v3", pci_address) && find("nvmlSystemGetDriverVersion", driver_version);
  find("nvmlErrorString", error_string);
  // Drivers before r535 know it under its old name alone.
  find("nvmlDeviceGetCurrentClocksEventReasons", slowing) ||
      find("nvmlDeviceGetCurrentClocksThrottleReasons", slowing);
  // Cards without the feature, and old drivers, tell nothing of it.
  find("nvmlDeviceGetMigMode", mig_mode);
  find("nvmlDeviceGetComputeMode", compute_mode);
  find("nvmlDeviceGetComputeRunningProcesses_v3", running) ||
      find("nvmlDeviceGetComputeRunningProcesses_v2", running);
  has_events_ = find("nvmlEventSetCreate", make_events) &&
                find("nvmlDeviceRegisterEvents", register_events) &&
                find("nvmlEventSetWait_v2", wait_for_event) && find("nvmlEventSetFree", free_events);
}

std::string Nvml::explain(int status) const {
  return error_string != nullptr ? std::string(error_string(status)) : text("status ", status);
}

uint64_t Nvml::slowing_of(Device device) const {
  constexpr uint64_t hardware = 0x8, too_hot = 0x20, much_too_hot = 0x40, power_brake = 0x80;
  unsigned long long reasons = 0;
  if (slowing == nullptr || slowing(device, &reasons) != success) return 0;
  return reasons & (hardware | too_hot | much_too_hot | power_brake);
}

int Nvml::processes_on(Device device) const {
  constexpr int insufficient_size = 7;  // the answer to a list of no room, where there are some
  unsigned count = 0;
  if (running == nullptr) return 0;
  const int status = running(device, &count, nullptr);
  return status == success || status == insufficient_size ? static_cast<int>(count) : 0;
}

std::string Nvml::slowing_message(uint64_t reasons) {
  static const std::vector<std::pair<uint64_t, const char*>> known{
      {0x40, "it is much too hot"}, {0x20, "it is too hot"}, {0x80, "the power supply asks for it"}};
  std::vector<std::string> words;
  for (const auto& [bit, name] : known) {
    if ((reasons & bit) != 0) words.emplace_back(name);
  }
  // The bit of the hardware comes with the one that says why, where that is known.
  if (words.empty() && reasons != 0) words.emplace_back("the hardware protects itself");
  return join(words, ", ");
}

std::string Nvml::xid_message(uint64_t number) {
  static const std::vector<std::pair<uint64_t, const char*>> known{
      {13, "an error in a kernel"},
      {31, "an illegal memory access"},
      {32, "broken commands of the driver"},
      {43, "a kernel was stopped"},
      {45, "a process was ended after another error"},
      {48, "an error in memory that could not be corrected"},
      {61, "its microcontroller stopped"},
      {62, "its microcontroller stopped"},
      {63, "a row of memory is to be replaced"},
      {64, "a row of memory could not be replaced"},
      {74, "an error of NVLink"},
      {79, "the GPU has fallen off the bus"},
      {94, "an error in memory that ended one process"},
      {95, "an error in memory that may have ended others"},
      {119, "its system processor does not answer"},
      {120, "an error of its system processor"},
  };
  for (const auto& [xid, words] : known) {
    if (xid == number) return text("Xid ", number, " (", words, ")");
  }
  return text("Xid ", number);
}

void Nvml::close(void* handle) {
  if (handle != nullptr) dlclose(handle);
}

template <class Function>
bool Nvml::find(const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle_.get(), symbol));
  return function != nullptr;
}

}  // namespace larmor

// GPUs by NVML, the driver's own library: opened at run time, so that one program runs with and without a
// driver, and asked instead of CUDA, so that the parent process holds no device context. The declarations are
// the few that are needed; NVML keeps its binary interface.
#include <array>
#include <filesystem>
#include <memory>
#include <string>

#include <dlfcn.h>

#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

using Device = void*;
constexpr int success = 0;
constexpr int no_permission = 4;
using TextBuffer = std::array<char, 96>;  // the longest that NVML asks for

struct Memory {
  unsigned long long total, free, used;
};

struct PciAddress {
  std::array<char, 16> old_address;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> address;  // "00000000:65:00.0"
};

class Nvml {
 public:
  explicit Nvml(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL), close) {
    if (!handle_) return;
    is_complete_ = find("nvmlInit_v2", init) && find("nvmlShutdown", shutdown) &&
                   find("nvmlDeviceGetCount_v2", device_count) &&
                   find("nvmlDeviceGetHandleByIndex_v2", device_by_index) &&
                   find("nvmlDeviceGetName", name) && find("nvmlDeviceGetMemoryInfo", memory) &&
                   find("nvmlDeviceGetCudaComputeCapability", capability) &&
                   find("nvmlDeviceGetUUID", uuid) && find("nvmlDeviceGetPciInfo_v3", pci_address) &&
                   find("nvmlSystemGetDriverVersion", driver_version);
    find("nvmlErrorString", error_string);
  }

  bool is_open() const { return handle_ != nullptr; }
  bool is_complete() const { return is_complete_; }
  std::string explain(int status) const {
    return error_string != nullptr ? std::string(error_string(status)) : text("status ", status);
  }

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

 private:
  static void close(void* handle) {
    if (handle != nullptr) dlclose(handle);
  }
  template <class Function>
  bool find(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_.get(), symbol));
    return function != nullptr;
  }

  std::unique_ptr<void, void (*)(void*)> handle_;
  bool is_complete_ = false;
};

/// NVML writes "00000000:65:00.0", the kernel "0000:65:00.0", both in hexadecimal of either case.
int numa_node_of(const std::filesystem::path& root, const PciAddress& pci) {
  std::string address = lower(pci.address.data());
  if (address.size() == 16) address.erase(0, 4);
  const auto file = read_kernel_file(root / "sys/bus/pci/devices" / address / "numa_node");
  return static_cast<int>(whole_number(file.value_or("")).value_or(-1));
}

Gpu describe_device(const Nvml& nvml, Device device, const std::filesystem::path& root) {
  Gpu gpu;
  TextBuffer buffer{};
  if (nvml.name(device, buffer.data(), buffer.size()) == success) gpu.name = buffer.data();
  if (nvml.uuid(device, buffer.data(), buffer.size()) == success) gpu.uuid = buffer.data();
  Memory memory{};
  if (nvml.memory(device, &memory) == success) {
    gpu.memory_bytes = memory.total;
    gpu.free_bytes = memory.free;
  }
  int major = 0, minor = 0;
  if (nvml.capability(device, &major, &minor) == success) {
    gpu.capability_major = major;
    gpu.capability_minor = minor;
  }
  PciAddress pci{};
  if (nvml.pci_address(device, &pci) == success) gpu.numa_node = numa_node_of(root, pci);
  return gpu;
}

std::vector<Gpu> list_devices(const Nvml& nvml, const std::filesystem::path& root, Hardware& hardware) {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  const int status = nvml.device_count(&count);
  if (status != success) hardware.notes.push_back(text("NVML cannot count the GPUs: ", nvml.explain(status)));
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const int problem = nvml.device_by_index(index, &device);
    if (problem == no_permission) {
      hardware.notes.push_back(text("GPU ", index, " of this machine is not granted to this job"));
    } else if (problem != success) {
      hardware.notes.push_back(text("NVML cannot open GPU ", index, ": ", nvml.explain(problem)));
    } else {
      gpus.push_back(describe_device(nvml, device, root));
      gpus.back().index = static_cast<int>(gpus.size()) - 1;
    }
  }
  return gpus;
}

void warn_of_order(const Surroundings& surroundings, Hardware& hardware) {
  bool is_uneven = false;
  for (const Gpu& gpu : hardware.gpus) is_uneven = is_uneven || gpu.name != hardware.gpus.front().name;
  if (!is_uneven || surroundings.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") return;
  hardware.notes.push_back(
      "unequal GPUs: CUDA counts the fastest first unless CUDA_DEVICE_ORDER=PCI_BUS_ID is set");
}

}  // namespace

void probe_gpus(const Surroundings& surroundings, Hardware& hardware) {
  const std::filesystem::path& root = surroundings.sources.root;
  const std::string library =
      surroundings.variable("LARMOR_NVML").value_or(surroundings.sources.nvml_library);
  const Nvml nvml(library);
  if (!nvml.is_open()) {
    if (std::filesystem::exists(root / "proc/driver/nvidia/version")) {
      hardware.notes.push_back(
          text("an NVIDIA driver is loaded, but ", library, " cannot be opened: no GPUs"));
    }
    return;
  }
  if (!nvml.is_complete()) {
    hardware.notes.push_back(text(library, " is not an NVML that can be used: functions are missing"));
    return;
  }
  if (const int status = nvml.init(); status != success) {
    hardware.notes.push_back(text("NVML does not start: ", nvml.explain(status)));
    return;
  }
  TextBuffer version{};
  if (nvml.driver_version(version.data(), version.size()) == success)
    hardware.driver_version = version.data();
  hardware.gpus = visible_gpus(list_devices(nvml, root, hardware),
                               surroundings.variable("CUDA_VISIBLE_DEVICES"), hardware.notes);
  warn_of_order(surroundings, hardware);
  nvml.shutdown();
}

}  // namespace larmor

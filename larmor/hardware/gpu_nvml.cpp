// GPUs by NVML, asked instead of CUDA, so that the parent process holds no device context.
#include <array>
#include <filesystem>
#include <string>

#include "larmor/base/text.h"
#include "larmor/hardware/gpu_obstacle.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/nvml.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

using Device = Nvml::Device;

/// NVML writes "00000000:65:00.0", the kernel "0000:65:00.0", both in hexadecimal of either case.
int numa_node_of(const std::filesystem::path& root, const Nvml::PciAddress& pci) {
  std::string address = lower(pci.address.data());
  if (address.size() == 16) address.erase(0, 4);
  const auto file = read_kernel_file(root / "sys/bus/pci/devices" / address / "numa_node");
  return static_cast<int>(whole_number(file.value_or("")).value_or(-1));
}

ComputeMode compute_mode_of(const Nvml& nvml, Device device) {
  int mode = 0;
  if (nvml.compute_mode == nullptr || nvml.compute_mode(device, &mode) != Nvml::success)
    return ComputeMode::shared;
  if (mode == 2) return ComputeMode::prohibited;
  return mode == 0 ? ComputeMode::shared : ComputeMode::exclusive;  // 1, of a thread, and 3, of a process
}

Gpu describe_device(const Nvml& nvml, Device device, const std::filesystem::path& root) {
  Gpu gpu;
  Nvml::TextBuffer buffer{};
  if (nvml.name(device, buffer.data(), buffer.size()) == Nvml::success) gpu.name = buffer.data();
  if (nvml.uuid(device, buffer.data(), buffer.size()) == Nvml::success) gpu.uuid = buffer.data();
  Nvml::Memory memory{};
  if (nvml.memory(device, &memory) == Nvml::success) {
    gpu.memory_bytes = memory.total;
    gpu.free_bytes = memory.free;
  }
  int major = 0, minor = 0;
  if (nvml.capability(device, &major, &minor) == Nvml::success) {
    gpu.capability_major = major;
    gpu.capability_minor = minor;
  }
  Nvml::PciAddress pci{};
  if (nvml.pci_address(device, &pci) == Nvml::success) gpu.numa_node = numa_node_of(root, pci);
  unsigned mig = 0, after_restart = 0;
  gpu.is_sliced =
      nvml.mig_mode != nullptr && nvml.mig_mode(device, &mig, &after_restart) == Nvml::success && mig == 1;
  gpu.compute_mode = compute_mode_of(nvml, device);
  gpu.processes = nvml.processes_on(device);
  return gpu;
}

std::vector<Gpu> list_devices(const Nvml& nvml, const std::filesystem::path& root,
                              std::vector<std::string>& notes) {
  std::vector<Gpu> gpus;
  unsigned count = 0;
  const int status = nvml.device_count(&count);
  if (status != Nvml::success) notes.push_back(text("NVML cannot count the GPUs: ", nvml.explain(status)));
  for (unsigned index = 0; index < count; ++index) {
    Device device = nullptr;
    const int problem = nvml.device_by_index(index, &device);
    if (problem == Nvml::no_permission) {
      notes.push_back(text("GPU ", index, " of this machine is not granted to this job"));
    } else if (problem != Nvml::success) {
      notes.push_back(text("NVML cannot open GPU ", index, ": ", nvml.explain(problem)));
    } else {
      gpus.push_back(describe_device(nvml, device, root));
      gpus.back().index = static_cast<int>(gpus.size()) - 1;
      const auto slowed = nvml.slowing_message(nvml.slowing_of(device));
      if (!slowed.empty()) notes.push_back(text("GPU ", index, " runs slower than it could: ", slowed));
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
  const std::string library = surroundings.nvml_library();
  const Nvml nvml(library);
  const auto is_without = [&](const std::string& why) {
    hardware.no_gpus = why;
    hardware.notes.push_back(why);
  };
  if (!nvml.is_open()) {
    hardware.no_gpus = text("no driver of NVIDIA's is here (", library, " cannot be opened)");
    if (std::filesystem::exists(root / "proc/driver/nvidia/version"))
      is_without(text("an NVIDIA driver is loaded, but ", library, " cannot be opened: no GPUs"));
    return;
  }
  if (!nvml.is_complete())
    return is_without(text(library, " is not an NVML that can be used: functions are missing"));
  if (const int status = nvml.init(); status != Nvml::success) {
    const auto file = closed_device_file(root);
    return is_without(text("NVML does not start: ", nvml.explain(status), file.empty() ? "" : "; ", file));
  }
  Nvml::TextBuffer version{};
  if (nvml.driver_version(version.data(), version.size()) == Nvml::success)
    hardware.driver_version = version.data();
  std::vector<std::string> notes;
  hardware.gpus =
      visible_gpus(list_devices(nvml, root, notes), surroundings.variable("CUDA_VISIBLE_DEVICES"), notes);
  if (hardware.gpus.empty()) hardware.no_gpus = notes.empty() ? "the driver sees none" : join(notes, "; ");
  hardware.notes.insert(hardware.notes.end(), notes.begin(), notes.end());
  warn_of_order(surroundings, hardware);
  nvml.shutdown();
}

}  // namespace larmor

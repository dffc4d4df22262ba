// NVML (libnvidia-ml.so.1) with the cards of an emulated machine: all of them, whatever CUDA_VISIBLE_DEVICES
// says. Its status numbers and structures are NVML's own.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/gpu_emulation/machine.h"

namespace {

using emulated::Card;

enum Status {
  success = 0,
  invalid_argument = 2,
  not_supported = 3,
  no_permission = 4,
  not_found = 6,
  driver_not_loaded = 9,
  gpu_is_lost = 15
};

struct Memory {
  unsigned long long total, free, used;
};

struct PciAddress {
  std::array<char, 16> old_address;
  unsigned domain, bus, device, device_id, subsystem_id;
  std::array<char, 32> address;
};

std::vector<Card>& cards() {
  static std::vector<Card> all;
  return all;
}

const Card& card_of(void* device) { return *static_cast<Card*>(device); }

int copy(const std::string& word, char* buffer, unsigned length) {
  if (word.size() + 1 > length) return invalid_argument;
  std::memcpy(buffer, word.c_str(), word.size() + 1);
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  auto machine = emulated::read_machine();
  if (!machine.has_driver) return driver_not_loaded;
  cards() = std::move(machine.cards);
  return success;
}

int nvmlShutdown() { return success; }

const char* nvmlErrorString(int status) {
  if (status == gpu_is_lost) return "GPU is lost";
  return status == driver_not_loaded ? "Driver Not Loaded" : "Some Error";
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return copy(emulated::driver_version, version, length);
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return success;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(cards().size());
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= cards().size()) return invalid_argument;
  if (!cards()[index].is_granted) return no_permission;
  if (cards()[index].is_lost) return gpu_is_lost;
  *device = &cards()[index];
  return success;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  unsigned domain = 0, bus = 0;  // libtorch writes the domain with four digits, NVML with eight
  if (std::sscanf(address, "%x:%x", &domain, &bus) != 2) return invalid_argument;
  const auto found =
      std::find_if(cards().begin(), cards().end(), [&](const Card& card) { return card.bus() == bus; });
  if (found == cards().end()) return not_found;
  *device = &*found;
  return success;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  return copy(card_of(device).name, name, length);
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const Card& card = card_of(device);
  *memory = {card.bytes, card.bytes - card.reserved(), card.reserved()};
  return success;
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = card_of(device).major;
  *minor = card_of(device).minor;
  return success;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  return copy(card_of(device).uuid(), uuid, length);
}

int nvmlDeviceGetPciInfo_v3(void* device, PciAddress* pci) {
  std::snprintf(pci->address.data(), pci->address.size(), "%s", card_of(device).pci_address().c_str());
  return success;
}

int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  *count = 0;
  return success;
}

int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return not_supported; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return not_supported; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return not_supported; }
}

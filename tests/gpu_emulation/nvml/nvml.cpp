// NVML (libnvidia-ml.so.1) with the cards of an emulated machine: all of them, whatever CUDA_VISIBLE_DEVICES
// says. Its status numbers and structures are NVML's own.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
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
  insufficient_size = 7,
  driver_not_loaded = 9,
  timed_out = 10,
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

/// Of a card, whenever NVML is started again: its number from 1.
void* handle_of(const Card& card) { return reinterpret_cast<void*>(uintptr_t{card.number} + 1); }

const Card& card_of(void* device) { return cards().at(reinterpret_cast<uintptr_t>(device) - 1); }

struct Event {
  void* device;
  unsigned long long kind, data;
  unsigned gpu_instance, compute_instance;
};

/// Cards whose Xids are asked for, and those that have told theirs.
struct EventSet {
  std::set<unsigned> registered, told;
};

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
  *device = handle_of(cards()[index]);
  return success;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** device) {
  unsigned domain = 0, bus = 0;  // libtorch writes the domain with four digits, NVML with eight
  if (std::sscanf(address, "%x:%x", &domain, &bus) != 2) return invalid_argument;
  const auto found =
      std::find_if(cards().begin(), cards().end(), [&](const Card& card) { return card.bus() == bus; });
  if (found == cards().end()) return not_found;
  *device = handle_of(*found);
  return success;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  return copy(card_of(device).name, name, length);
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const Card& card = card_of(device);
  if (emulated::fault_that_struck(card.number) == "gone") return gpu_is_lost;
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

int nvmlDeviceGetCurrentClocksEventReasons(void* device, unsigned long long* reasons) {
  *reasons = card_of(device).slowing;
  return success;
}

int nvmlEventSetCreate(void** set) {
  *set = new EventSet;
  return success;
}

int nvmlDeviceRegisterEvents(void* device, unsigned long long /*kinds*/, void* set) {
  static_cast<EventSet*>(set)->registered.insert(card_of(device).number);
  return success;
}

/// A fault of a card comes with the Xid that the driver has for it. Never waits.
int nvmlEventSetWait_v2(void* set, Event* event, unsigned /*milliseconds*/) {
  constexpr unsigned long long xid_events = 8, illegal_access = 31, off_the_bus = 79;
  auto& events = *static_cast<EventSet*>(set);
  for (const unsigned number : events.registered) {
    const std::string fault = emulated::fault_that_struck(number);
    if ((fault != "gone" && fault != "error") || !events.told.insert(number).second) continue;
    *event = {handle_of(cards().at(number)), xid_events, fault == "gone" ? off_the_bus : illegal_access, 0,
              0};
    return success;
  }
  return timed_out;
}

int nvmlEventSetFree(void* set) {
  delete static_cast<EventSet*>(set);
  return success;
}

int nvmlDeviceGetMigMode(void* device, unsigned* now, unsigned* after_restart) {
  *now = *after_restart = card_of(device).is_sliced ? 1 : 0;
  return success;
}

int nvmlDeviceGetComputeMode(void* device, int* mode) {
  *mode = card_of(device).compute_mode;
  return success;
}

/// With room for none of them, as larmor asks.
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, void*) {
  *count = static_cast<unsigned>(card_of(device).processes);
  return *count == 0 ? success : insufficient_size;
}

int nvmlDeviceGetComputeRunningProcesses(void*, unsigned* count, void*) {
  *count = 0;
  return success;
}

int nvmlDeviceGetGpuFabricInfoV(void*, void*) { return not_supported; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int*) { return not_supported; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, void*) { return not_supported; }
}

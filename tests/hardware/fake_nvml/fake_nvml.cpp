// An NVML with invented cards. The environment variable FAKE_NVML says which:
//   none     a driver without a card            unequal  an A100 of 40 GiB and a T4 of 15 GiB
//   eight    eight cards of 80 GiB              denied   three cards, the second not granted to this job
//   broken   does not start
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr unsigned long long gibibyte = 1ULL << 30;
enum Status { success = 0, invalid_argument = 2, no_permission = 4, driver_not_loaded = 9 };

struct Card {
  std::string name;
  unsigned long long total = 0, free = 0;
  int major = 0, minor = 0;
  unsigned bus = 0;
  bool is_granted = true;
};

struct Memory {
  unsigned long long total, free, used;
};

struct PciAddress {
  char old_address[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char address[32];
};

std::vector<Card>& cards() {
  static std::vector<Card> all;
  return all;
}

Card* card_of(void* device) { return static_cast<Card*>(device); }

int copy(const std::string& word, char* buffer, unsigned length) {
  if (word.size() + 1 > length) return invalid_argument;
  std::memcpy(buffer, word.c_str(), word.size() + 1);
  return success;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  const char* chosen = std::getenv("FAKE_NVML");
  const std::string scene = chosen == nullptr ? "none" : chosen;
  cards().clear();
  if (scene == "broken") return driver_not_loaded;
  if (scene == "unequal") {
    cards().push_back({"NVIDIA A100-PCIE-40GB", 40 * gibibyte, 39 * gibibyte, 8, 0, 0x3b, true});
    cards().push_back({"Tesla T4", 15 * gibibyte, 14 * gibibyte, 7, 5, 0xaf, true});
  }
  if (scene == "eight" || scene == "denied") {
    const unsigned count = scene == "eight" ? 8 : 3;
    for (unsigned i = 0; i < count; ++i) {
      const bool is_granted = scene == "eight" || i != 1;
      cards().push_back({"NVIDIA H100 80GB HBM3", 80 * gibibyte, 79 * gibibyte, 9, 0, 0x10 + i, is_granted});
    }
  }
  return success;
}

int nvmlShutdown() { return success; }

const char* nvmlErrorString(int status) {
  return status == driver_not_loaded ? "Driver Not Loaded" : "Some Error";
}

int nvmlSystemGetDriverVersion(char* version, unsigned length) { return copy("550.54.15", version, length); }

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(cards().size());
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= cards().size()) return invalid_argument;
  if (!cards()[index].is_granted) return no_permission;
  *device = &cards()[index];
  return success;
}

int nvmlDeviceGetName(void* device, char* name, unsigned length) {
  return copy(card_of(device)->name, name, length);
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const Card& card = *card_of(device);
  *memory = {card.total, card.free, card.total - card.free};
  return success;
}

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  *major = card_of(device)->major;
  *minor = card_of(device)->minor;
  return success;
}

int nvmlDeviceGetUUID(void* device, char* uuid, unsigned length) {
  char word[48];
  std::snprintf(word, sizeof word, "GPU-%02x000000-0000-4000-8000-000000000000", card_of(device)->bus);
  return copy(word, uuid, length);
}

int nvmlDeviceGetPciInfo_v3(void* device, PciAddress* pci) {
  std::snprintf(pci->address, sizeof pci->address, "00000000:%02X:00.0", card_of(device)->bus);
  return success;
}
}

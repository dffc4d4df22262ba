#include "tests/gpu_emulation/machine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace emulated {
namespace {

struct Kind {
  std::string_view word;
  const char* name;
  size_t gibibytes;
  int major, minor;
  int multiprocessors;
};

constexpr std::array kinds{
    Kind{"H100", "NVIDIA H100 80GB HBM3", 80, 9, 0, 132},
    Kind{"A100", "NVIDIA A100-SXM4-80GB", 80, 8, 0, 108},
    Kind{"A100-40", "NVIDIA A100-PCIE-40GB", 40, 8, 0, 108},
    Kind{"RTX4090", "NVIDIA GeForce RTX 4090", 24, 8, 9, 128},
    Kind{"V100", "Tesla V100-SXM2-16GB", 16, 7, 0, 80},
    Kind{"T4", "Tesla T4", 15, 7, 5, 40},
    Kind{"RTX3070", "NVIDIA GeForce RTX 3070", 8, 8, 6, 46},
};

constexpr unsigned first_bus = 0x10;
constexpr unsigned long long too_hot_by_hardware = 0x48;  // slowed by the hardware, for its heat

[[noreturn]] void refuse(const std::string& words) {
  std::fprintf(stderr, "emulated GPU: EMULATED_GPUS names no cards: '%s'\n", words.c_str());
  std::abort();
}

void add_cards(std::string word, Machine& machine) {
  const std::string whole = word;
  size_t count = 1;
  if (word.find('*') != std::string::npos) count = std::strtoul(take_until(word, '*').c_str(), nullptr, 10);
  std::string with_memory = take_until(word, '/');
  constexpr int prohibited = 2, exclusive = 3;
  const bool is_granted = word != "denied", is_hot = word == "hot", is_held = word == "held";
  const bool is_sliced = word == "mig", is_prohibited = word == "prohibited";
  const bool is_exclusive = is_held || word == "exclusive";
  const bool is_known = word.empty() || !is_granted || is_hot || is_sliced || is_prohibited || is_exclusive;
  const std::string name = take_until(with_memory, ':');
  const auto kind =
      std::find_if(kinds.begin(), kinds.end(), [&](const Kind& each) { return each.word == name; });
  if (kind == kinds.end() || count == 0 || !is_known) refuse(whole);
  const size_t bytes = with_memory.empty() ? kind->gibibytes * gibibyte : read_bytes(with_memory);
  if (bytes == 0) refuse(whole);
  for (size_t i = 0; i < count; ++i) {
    const auto number = static_cast<unsigned>(machine.cards.size());
    machine.cards.push_back(
        {kind->name, bytes, kind->major, kind->minor, kind->multiprocessors, number, is_granted});
    // It stays away for all processes that begin afterwards.
    machine.cards.back().is_lost = fault_that_struck(number) == "gone";
    machine.cards.back().is_sliced = is_sliced;
    machine.cards.back().compute_mode = is_prohibited ? prohibited : is_exclusive ? exclusive : 0;
    machine.cards.back().processes = is_held ? 1 : 0;
    if (is_hot) machine.cards.back().slowing = too_hot_by_hardware;
  }
}

std::string with_bus(const char* format, unsigned bus) {
  std::array<char, 64> word{};
  std::snprintf(word.data(), word.size(), format, bus);
  return word.data();
}

}  // namespace

unsigned Card::bus() const { return first_bus + number; }

std::string Card::uuid() const { return with_bus("GPU-%02x000000-0000-4000-8000-000000000000", bus()); }

std::string Card::pci_address() const { return with_bus("00000000:%02X:00.0", bus()); }

std::string fault_that_struck(unsigned card) {
  const char* const mark = std::getenv("EMULATED_FAULT_MARK");
  std::FILE* const file = mark == nullptr ? nullptr : std::fopen(mark, "r");
  if (file == nullptr) return {};
  std::array<char, 16> fault{};
  unsigned number = 0;
  const bool is_told = std::fscanf(file, "%15[a-z]@%u", fault.data(), &number) == 2;
  std::fclose(file);
  return is_told && number == card ? fault.data() : "";
}

std::string take_until(std::string& rest, char mark) {
  const size_t place = rest.find(mark);
  std::string word = rest.substr(0, place);
  rest = place == std::string::npos ? "" : rest.substr(place + 1);
  return word;
}

size_t read_bytes(const std::string& words) {
  char* unit = nullptr;
  const double number = std::strtod(words.c_str(), &unit);
  const double factor = *unit == 'G'   ? static_cast<double>(gibibyte)
                        : *unit == 'M' ? static_cast<double>(mebibyte)
                                       : 0;
  return number > 0 ? static_cast<size_t>(number * factor) : 0;
}

size_t read_number(const char* variable, size_t otherwise) {
  const char* const word = std::getenv(variable);
  return word == nullptr || *word == '\0' ? otherwise : std::strtoull(word, nullptr, 10);
}

Machine read_machine() {
  Machine machine;
  const char* const words = std::getenv("EMULATED_GPUS");
  std::string rest = words == nullptr ? "" : words;
  if (rest == "broken") machine.has_driver = false;
  if (rest == "broken" || rest == "none") return machine;
  while (!rest.empty()) add_cards(take_until(rest, ','), machine);
  return machine;
}

}  // namespace emulated

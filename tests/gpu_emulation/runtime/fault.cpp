#include "tests/gpu_emulation/runtime/fault.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "tests/gpu_emulation/machine.h"
#include "tests/gpu_emulation/runtime/fault_phase.h"

namespace emulated {
namespace {

constexpr std::array words{"memory", "allocation", "error", "gone", "collective", "killed", "stuck"};

using Place = std::pair<Fault, unsigned>;

std::map<Place, size_t> read_faults() {
  std::map<Place, size_t> faults;
  const char* const list = std::getenv("EMULATED_FAULTS");
  std::string rest = list == nullptr ? "" : list;
  while (!rest.empty()) {
    const std::string word = take_until(rest, ',');
    std::string number = word;
    std::string card = take_until(number, '=');
    const std::string name = take_until(card, '@');
    bool is_known = false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (name != words[i]) continue;
      const auto fault = static_cast<Fault>(i);
      faults[{fault, static_cast<unsigned>(std::strtoul(card.c_str(), nullptr, 10))}] =
          fault == Fault::memory ? read_bytes(number) : std::strtoull(number.c_str(), nullptr, 10);
      is_known = true;
    }
    if (is_known) continue;
    std::fprintf(stderr, "emulated GPU: EMULATED_FAULTS names no fault: '%s'\n", word.c_str());
    std::abort();
  }
  return faults;
}

/// Whether no fault has struck yet: the mark says so to all processes, and to those that come later.
bool set_mark(Fault fault, unsigned card) {
  const char* const path = std::getenv("EMULATED_FAULT_MARK");
  if (path == nullptr) return true;
  const int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return false;
  dprintf(file, "%s@%u\n", words[static_cast<size_t>(fault)], card);
  close(file);
  return true;
}

}  // namespace

std::optional<size_t> number_of(Fault fault, unsigned card) {
  static const auto& faults = *new std::map<Place, size_t>(read_faults());
  const auto found = faults.find({fault, card});
  return found == faults.end() || !is_phase_of_faults() ? std::nullopt : std::optional(found->second);
}

bool strikes(Fault fault, unsigned card) {
  const auto number = number_of(fault, card);
  if (!number) return false;
  static std::mutex mutex;
  static auto& counts = *new std::map<Place, size_t>;
  {
    const std::lock_guard lock(mutex);
    if (++counts[{fault, card}] != *number) return false;
  }
  if (!set_mark(fault, card)) return false;
  std::fprintf(stderr, "emulated GPU: the fault %s strikes card %u\n", words[static_cast<size_t>(fault)],
               card);
  return true;
}

}  // namespace emulated

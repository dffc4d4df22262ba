#include "tests/gpu_emulation/runtime/fault_phase.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "larmor/watch/rank_cell.h"

#include "tests/gpu_emulation/machine.h"

namespace emulated {
namespace {

constexpr size_t none = static_cast<size_t>(-1);

/// This rank's part of the board, read as watch/status_board.cpp lays it out; null for a process without one.
const larmor::RankCell* own_cell() {
  const size_t descriptor = read_number("LARMOR_STATUS_FD", none), rank = read_number("LARMOR_RANK", none);
  struct stat facts{};
  if (descriptor == none || rank == none || fstat(static_cast<int>(descriptor), &facts) != 0) return nullptr;
  constexpr size_t line = 64;
  const auto bytes = static_cast<size_t>(facts.st_size);
  if (bytes < line + (rank + 1) * sizeof(larmor::RankCell)) return nullptr;
  void* const board = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, static_cast<int>(descriptor), 0);
  if (board == MAP_FAILED) return nullptr;
  return reinterpret_cast<const larmor::RankCell*>(static_cast<const std::byte*>(board) + line) + rank;
}

struct WantedPhase {
  std::string phase;
  int64_t step = 0;
};

std::optional<WantedPhase> read_wanted() {
  const char* const words = std::getenv("EMULATED_FAULT_PHASE");
  if (words == nullptr || *words == '\0') return std::nullopt;
  WantedPhase wanted;
  std::string step = words;
  wanted.phase = take_until(step, ':');
  wanted.step = std::strtoll(step.c_str(), nullptr, 10);
  return wanted;
}

const char* word_for(larmor::Phase phase) {
  switch (phase) {
    case larmor::Phase::starting:
      return "starting";
    case larmor::Phase::validating:
      return "validating";
    case larmor::Phase::saving:
      return "saving";
    case larmor::Phase::finished:
      return "finished";
    default:
      return "training";
  }
}

}  // namespace

bool is_phase_of_faults() {
  static const auto wanted = read_wanted();
  if (!wanted) return true;
  static const auto* const cell = own_cell();
  if (cell == nullptr) return false;
  const auto progress = cell->progress.read();
  return wanted->phase == word_for(progress.phase) && progress.step >= wanted->step;
}

}  // namespace emulated

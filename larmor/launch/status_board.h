// A page of memory shared by the launcher and its ranks: what each rank is doing. It dies with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larmor {

enum class Phase : int32_t {
  starting,
  waiting_for_data,
  computing,
  communicating,
  validating,
  saving,
  finished
};
std::string_view to_text(Phase phase);

/// Thread-safe. A rank writes its own cell, the launcher reads all.
class StatusBoard {
 public:
  /// The launcher makes one for `ranks` ranks.
  explicit StatusBoard(int ranks);
  /// A rank opens the one that its environment names (LARMOR_STATUS_FD); a private page when there is none.
  /// Throws Error (usage) when the variable names something else than a board for so many ranks.
  static StatusBoard from_environment(int rank, int ranks);
  ~StatusBoard();
  StatusBoard(StatusBoard&& other) noexcept;
  StatusBoard& operator=(StatusBoard&&) = delete;

  /// What the launcher hands to its ranks; -1 in a rank.
  int descriptor() const { return descriptor_; }
  void set(int rank, Phase phase, int64_t step);
  Phase phase(int rank) const;
  int64_t step(int rank) const;

 private:
  struct Cell;
  StatusBoard() = default;
  size_t bytes() const;
  void map(int descriptor);
  int descriptor_ = -1;
  int ranks_ = 0;
  Cell* cells_ = nullptr;
};

}  // namespace larmor

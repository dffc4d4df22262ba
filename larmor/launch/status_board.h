// A page of memory shared by the launcher and its ranks: what each rank is doing. It dies with them.
#pragma once

#include <cstdint>
#include <string_view>

namespace larmor {

enum class Phase : int32_t { starting, waiting_for_data, computing, communicating, validating, saving, finished };
std::string_view to_text(Phase phase);

class StatusBoard {
 public:
  /// The launcher makes one for `ranks` ranks.
  explicit StatusBoard(int ranks);
  /// A rank opens the one that its environment names (LARMOR_STATUS_FD); a private page when there is none.
  static StatusBoard from_environment(int rank, int ranks);
  ~StatusBoard();
  StatusBoard(StatusBoard&& other) noexcept;
  StatusBoard& operator=(StatusBoard&&) = delete;

  int descriptor() const { return descriptor_; }
  void set(int rank, Phase phase, int64_t step);
  Phase phase(int rank) const;
  int64_t step(int rank) const;

 private:
  struct Cell;
  StatusBoard() = default;
  int descriptor_ = -1;
  int ranks_ = 0;
  Cell* cells_ = nullptr;
};

}  // namespace larmor

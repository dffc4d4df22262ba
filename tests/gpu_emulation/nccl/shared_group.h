// Memory that the ranks of one communicator share, be they processes or threads of one host, and the point
// where they wait for each other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace emulated {

enum class Collective { start, all_reduce, reduce_scatter, all_gather, broadcast };
const char* name_of(Collective collective);

/// What a rank is about to do.
struct Call {
  Collective collective = Collective::start;
  int type = 0, operation = 0, root = 0;
  uint64_t count = 0;  // numbers that a rank gives

  bool operator==(const Call&) const = default;
};

class SharedGroup {
 public:
  static constexpr size_t slot_bytes = size_t{1} << 20;
  static constexpr int most_ranks = 64;

  SharedGroup(std::string name, int rank, int size);
  ~SharedGroup();
  SharedGroup(const SharedGroup&) = delete;
  SharedGroup& operator=(const SharedGroup&) = delete;

  bool is_open() const { return shared_ != nullptr; }
  /// Blocks until all ranks have come, or `given_up` becomes true. Whether all have come.
  bool wait_for_all(const std::atomic<bool>& given_up);
  /// All ranks have opened it: its name is free again.
  void forget_name();

  Call& call_of(int rank);
  std::string card_of(int rank) const;
  void set_card(const std::string& pci_address);
  char* slot_of(int rank) const;

 private:
  struct Shared;

  std::string name_;
  int rank_, size_;
  size_t bytes_ = 0;
  Shared* shared_ = nullptr;
};

}  // namespace emulated

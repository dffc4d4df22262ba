// The cards of an emulated machine, as the environment describes them. EMULATED_GPUS lists them between
// commas, each as [N*]KIND[:MEMORY][/denied]:
//   8*H100            eight cards of that kind
//   A100-40,T4        two of different kinds
//   2*H100:1400M      with another amount of memory; M and G are MiB and GiB
//   H100,H100/denied  the second is not granted to the job
//   H100/mig          it is divided into MIG instances
//   H100/prohibited   nobody may compute on it
//   H100/exclusive    it is one process' own, and H100/held has that process
//   H100/hot          it is so hot that it slows itself down
//   none              a driver without a card; also where the variable is not set
//   broken            a driver that does not start
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace emulated {

constexpr size_t mebibyte = size_t{1} << 20;
constexpr size_t gibibyte = size_t{1} << 30;

struct Card {
  std::string name;
  size_t bytes = 0;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  unsigned number = 0;  // among the cards of the machine
  bool is_granted = true;
  bool is_lost = false;  // a fault has struck it (runtime/fault.h)
  bool is_sliced = false;
  int compute_mode = 0, processes = 0;  // NVML's number of the mode; processes that compute on it
  unsigned long long slowing = 0;       // NVML's reasons for clocks that are lower than they could be

  unsigned bus() const;
  std::string uuid() const;         // "GPU-10000000-0000-4000-8000-000000000000"
  std::string pci_address() const;  // "00000000:10:00.0"
  /// What the driver keeps for itself and NVML counts as used.
  size_t reserved() const { return bytes >= 8 * gibibyte ? gibibyte : 0; }
};

struct Machine {
  bool has_driver = true;
  std::vector<Card> cards;
};

/// Reads the environment anew. Ends the process where EMULATED_GPUS cannot be read.
Machine read_machine();

/// "gone", "error": what has struck a card, in any process, as EMULATED_FAULT_MARK keeps it; "" where nothing
/// has.
std::string fault_that_struck(unsigned card);

/// What stands before `mark`, which is taken from `rest` with it; all of it where there is no mark.
std::string take_until(std::string& rest, char mark);

/// An amount of memory, "1400M" or "2G", in bytes; 0 where it is none.
size_t read_bytes(const std::string& words);

/// A whole number of the environment.
size_t read_number(const char* variable, size_t otherwise);

constexpr const char* driver_version = "580.65.06";

}  // namespace emulated

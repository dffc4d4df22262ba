// Copies between device memory and pinned memory of the host. They may happen as late as the host can tell:
// bytes for the host come when it has learnt that the copy is done, and hold poison until then; bytes of the
// host must not change before.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/gpu_emulation/runtime/order.h"

namespace emulated {

class HostCopies {
 public:
  void to_host(const Moment& moment, char* host, const char* bytes, size_t count);
  void from_host(const Moment& moment, const char* host, size_t count);
  /// A work that comes after `clock` reads or writes these bytes of the host: what a stream has put there by
  /// then comes.
  void deliver(const char* host, size_t count, const Clock& clock);
  /// The host has learnt that everything up to `known` is done. Gives what is wrong.
  std::vector<std::string> settle(const Clock& known);

 private:
  struct Copy {
    Moment moment;
    char* host = nullptr;
    std::vector<char> bytes;
  };

  std::vector<Copy> to_host_, from_host_;  // under way
};

}  // namespace emulated

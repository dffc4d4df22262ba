#include "tests/gpu_emulation/runtime/host_copies.h"

#include <cstring>

namespace emulated {
namespace {

constexpr int poison = 0xFF;  // floating-point numbers of such bytes are none

bool is_known(const Moment& moment, const Clock& clock) { return moment.count <= clock.of(moment.stream); }

}  // namespace

void HostCopies::to_host(const Moment& moment, char* host, const char* bytes, size_t count) {
  to_host_.push_back({moment, host, std::vector<char>(bytes, bytes + count)});
  std::memset(host, poison, count);
}

void HostCopies::from_host(const Moment& moment, const char* host, size_t count) {
  from_host_.push_back({moment, const_cast<char*>(host), std::vector<char>(host, host + count)});
}

void HostCopies::deliver(const char* host, size_t count, const Clock& clock) {
  std::erase_if(to_host_, [&](const Copy& copy) {
    const bool meets = copy.host < host + count && host < copy.host + copy.bytes.size();
    if (!meets || !is_known(copy.moment, clock)) return false;
    std::memcpy(copy.host, copy.bytes.data(), copy.bytes.size());
    return true;
  });
}

std::vector<std::string> HostCopies::settle(const Clock& known) {
  std::vector<std::string> problems;
  std::erase_if(from_host_, [&](const Copy& copy) {
    if (!is_known(copy.moment, known)) return false;
    if (std::memcmp(copy.host, copy.bytes.data(), copy.bytes.size()) != 0) {
      problems.push_back("the host wrote into pinned memory of " + std::to_string(copy.bytes.size()) +
                         " bytes before it knew that their copy to the device was done");
    }
    return true;
  });
  std::erase_if(to_host_, [&](const Copy& copy) {
    if (!is_known(copy.moment, known)) return false;
    std::memcpy(copy.host, copy.bytes.data(), copy.bytes.size());
    return true;
  });
  return problems;
}

}  // namespace emulated

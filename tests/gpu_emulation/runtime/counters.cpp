#include "tests/gpu_emulation/runtime/counters.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

namespace emulated {
namespace {

void write_counters() {
  const char* const folder = std::getenv("EMULATED_COUNTERS");
  if (folder == nullptr || counters().kernels == 0) return;
  const std::string path = std::string(folder) + "/" + std::to_string(getpid()) + ".json";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return;
  const auto& all = counters();
  const auto number = [](const std::atomic<uint64_t>& count) {
    return static_cast<unsigned long long>(count.load());
  };
  std::fprintf(
      file,
      "{\"kernels\": %llu, \"host_waits\": %llu, \"copies_to_host\": %llu, \"copies_to_device\": %llu, "
      "\"overlapping_copies\": %llu, "
      "\"pageable_asynchronous_copies\": %llu, \"allocations\": %llu, \"collectives\": %llu, "
      "\"graph_launches\": %llu, \"own_kernels\": %llu}\n",
      number(all.kernels), number(all.host_waits), number(all.copies_to_host), number(all.copies_to_device),
      number(all.overlapping_copies), number(all.pageable_asynchronous_copies), number(all.allocations),
      number(all.collectives), number(all.graph_launches), number(all.own_kernels));
  std::fclose(file);
}

}  // namespace

Counters& counters() {
  static auto* const all = [] {
    std::atexit(write_counters);
    return new Counters;  // outlives every static destructor
  }();
  return *all;
}

}  // namespace emulated

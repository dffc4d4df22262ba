#include "larmor/hardware/free_cores.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <thread>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

double stated_free_cores(const std::string& words, size_t cores) {
  if (words == "all") return static_cast<double>(cores);
  double number = 0;
  const char* const end = words.data() + words.size();
  const auto [stop, problem] = std::from_chars(words.data(), end, number);
  if (problem != std::errc() || stop != end || !(number >= 0))
    fail(Exit::usage, text("LARMOR_FREE_CORES is \"", words, "\""),
         "say how many cores nobody else uses, or all; without it they are counted");
  return std::min(number, static_cast<double>(cores));
}

std::map<int, CoreTicks> ticks_now(const HardwareSources& sources) {
  return core_ticks(read_kernel_file(sources.root / "proc/stat").value_or(""));
}

}  // namespace

std::map<int, CoreTicks> core_ticks(std::string_view statistics) {
  std::map<int, CoreTicks> cores;
  for (const std::string& line : split(statistics, '\n')) {
    const std::vector<std::string> words = split(line, ' ');
    if (!words.front().starts_with("cpu")) continue;
    const auto core = whole_number(std::string_view(words.front()).substr(3));
    if (!core) continue;  // the line of all cores
    // user nice system idle iowait irq softirq steal; the time of guests, which follows, is part of user.
    constexpr size_t idle = 4, waiting_for_disks = 5, counted_words = 9;
    CoreTicks& ticks = cores[static_cast<int>(*core)];
    for (size_t i = 1; i < std::min(words.size(), counted_words); ++i) {
      const int64_t count = whole_number(words[i]).value_or(0);
      ticks.all += count;
      if (i == idle || i == waiting_for_disks) ticks.idle += count;
    }
  }
  return cores;
}

std::optional<double> free_between(const std::map<int, CoreTicks>& before,
                                   const std::map<int, CoreTicks>& after, const std::vector<int>& cores) {
  double free = 0;
  for (const int core : cores) {
    const auto first = before.find(core), last = after.find(core);
    if (first == before.end() || last == after.end()) return std::nullopt;
    const int64_t all = last->second.all - first->second.all;
    const int64_t idle = last->second.idle - first->second.idle;
    if (all <= 0) return std::nullopt;
    free += std::clamp(static_cast<double>(idle) / static_cast<double>(all), 0.0, 1.0);
  }
  return cores.empty() ? std::nullopt : std::optional(free);
}

bool measure_free_cores(const HardwareSources& sources, Hardware& hardware) {
  if (const auto stated = surroundings_of(sources).variable("LARMOR_FREE_CORES")) {
    hardware.free_cores = stated_free_cores(*stated, hardware.cores.size());
    return false;
  }
  const auto before = ticks_now(sources);
  if (before.empty()) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  hardware.free_cores = free_between(before, ticks_now(sources), hardware.cores);
  return hardware.free_cores.has_value();
}

}  // namespace larmor

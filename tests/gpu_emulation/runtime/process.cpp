#include "tests/gpu_emulation/runtime/process.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>
#include <unistd.h>

#include "tests/gpu_emulation/runtime/fault.h"

namespace emulated {
namespace {

constexpr size_t context_bytes = 500 * mebibyte;  // what a process holds on a card by using it

/// CUDA_VISIBLE_DEVICES: numbers or beginnings of UUIDs, up to the first that means nothing.
std::vector<Card> visible_cards() {
  std::vector<Card> granted, chosen;
  for (const Card& card : read_machine().cards) {
    if (card.is_granted && !card.is_lost) granted.push_back(card);
  }
  const char* const words = std::getenv("CUDA_VISIBLE_DEVICES");
  if (words == nullptr) return granted;
  std::string rest = words;
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string word = rest.substr(rest.find_first_not_of(' '), comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const auto is_meant = [&](const Card& card) {
      if (word.starts_with("GPU-")) return card.uuid().starts_with(word);
      return word == std::to_string(&card - granted.data());
    };
    const auto found = std::find_if(granted.begin(), granted.end(), is_meant);
    if (found == granted.end()) break;
    chosen.push_back(*found);
  }
  return chosen;
}

thread_local bool has_pageable_copy = false;

}  // namespace

Process::Process() : memory(static_cast<int>(visible_cards().size())) {
  for (const Card& card : visible_cards()) {
    auto stream = std::make_unique<Stream>();
    stream->number = known_streams++;
    stream->device = static_cast<int>(devices.size());
    devices.push_back({.card = card, .default_stream = std::move(stream)});
  }
}

bool Process::take_bytes(int device, size_t bytes) {
  Device& one = devices[static_cast<size_t>(device)];
  const size_t limit = number_of(Fault::memory, one.card.number).value_or(one.card.bytes);
  if (one.used + bytes <= limit && !strikes(Fault::allocation, one.card.number)) {
    one.used += bytes;
    return true;
  }
  if (is_traced()) {
    std::fprintf(stderr, "emulated GPU: device %d refuses %zu bytes, %zu of %zu are in use\n", device, bytes,
                 one.used, limit);
  }
  return false;
}

void Process::forget(void* pointer, size_t bytes) {
  order.forget(reinterpret_cast<uintptr_t>(pointer), bytes);
  graph_memory.remove(pointer, bytes);
}

Process& process() {
  static auto* const only = new Process;  // outlives every static destructor
  return *only;
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess && status != cudaErrorNotReady) last_error() = status;
  return status;
}

cudaError_t enter(int device) {
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  if (all.devices.empty()) return cudaErrorNoDevice;
  if (device < 0 || device >= static_cast<int>(all.devices.size())) return cudaErrorInvalidDevice;
  if (all.user != 0 && all.user != getpid()) return cudaErrorInitializationError;
  Device& one = all.devices[static_cast<size_t>(device)];
  if (one.failure != cudaSuccess) return one.failure;
  if (one.has_context) return cudaSuccess;
  if (is_traced()) std::fprintf(stderr, "emulated GPU: process %d uses device %d\n", getpid(), device);
  one.has_context = true;
  one.used += context_bytes + one.card.reserved();
  all.user = getpid();
  return cudaSuccess;
}

Stream& stream_of(cudaStream_t handle) {
  constexpr uintptr_t last_special = 2;  // the default stream has three names
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (value > last_special) return *reinterpret_cast<Stream*>(handle);
  return *process().devices.at(static_cast<size_t>(current_device())).default_stream;
}

Pending pending_of(cudaStream_t handle) {
  const std::lock_guard lock(process().mutex);
  Stream& stream = stream_of(handle);
  add_to(stream.pending, {});
  return stream.pending;
}

Pending pending_of_device(int device) {
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  Pending pending = all.devices.at(static_cast<size_t>(device)).default_stream->pending;
  for (const auto& stream : all.streams) {
    if (stream->device == device) add_to(pending, stream->pending);
  }
  return pending;
}

void host_learns(const Clock& known) {
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  all.host.merge(known);
  for (const std::string& problem : all.copies.settle(all.host)) report_disorder(problem);
}

void synchronize_device(int device) {
  wait_for(pending_of_device(device));
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  Clock known = all.devices.at(static_cast<size_t>(device)).default_stream->clock;
  for (const auto& stream : all.streams) {
    if (stream->device == device) known.merge(stream->clock);
  }
  host_learns(known);
}

bool is_pinned(const void* pointer) {
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto next = all.pinned.upper_bound(address);
  if (next == all.pinned.begin()) return false;
  const auto& [begin, block] = *std::prev(next);
  return address < begin + std::max<size_t>(block.bytes, 1);
}

void note_call(bool is_wait) {
  if (!has_pageable_copy) return;
  has_pageable_copy = false;
  if (!is_wait) ++counters().pageable_asynchronous_copies;
}

void note_pageable_copy() { has_pageable_copy = true; }

void load_operators() {
  static const bool once = [] {
    if (dlsym(RTLD_DEFAULT, "_ZN3c1010Dispatcher13realSingletonEv") == nullptr) return false;  // no libtorch
    Dl_info here{};
    dladdr(reinterpret_cast<const void*>(&load_operators), &here);
    std::string folder = here.dli_fname;
    folder.erase(folder.rfind('/') + 1);
    if (dlopen((folder + "libemulated_operators.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      std::fprintf(stderr, "emulated GPU: %s\n", dlerror());
      std::abort();
    }
    return true;
  }();
  static_cast<void>(once);
}

bool is_traced() {
  static const bool is_on = read_number("EMULATED_TRACE", 0) != 0;
  return is_on;
}

bool is_hollow() {
  static const bool is_on = read_number("EMULATED_HOLLOW", 0) != 0;
  return is_on;
}

bool is_kept(size_t bytes) {
  constexpr size_t widest = 8;
  return !is_hollow() || bytes <= widest * static_cast<size_t>(most_computed_numbers);
}

std::string current_pci_address() {
  return process().devices.at(static_cast<size_t>(current_device())).card.pci_address();
}

bool has_context(int device) {
  auto& all = process();
  const std::lock_guard lock(all.mutex);
  return device < static_cast<int>(all.devices.size()) &&
         all.devices[static_cast<size_t>(device)].has_context;
}

void* host_address(const void* pointer) { return process().memory.host_address(pointer); }

void poison(const void* pointer, size_t bytes) {
  constexpr int of_no_number = 0xFF;
  if (!is_hollow()) std::memset(host_address(pointer), of_no_number, bytes);
}

bool is_device_address(const void* pointer) { return process().memory.contains(pointer); }

void report_disorder(const std::string& problem) {
  std::fprintf(stderr, "emulated GPU: out of order: %s\n", problem.c_str());
  const char* const how = std::getenv("EMULATED_ORDER");
  if (how == nullptr || std::strcmp(how, "report") != 0) std::abort();
}

}  // namespace emulated

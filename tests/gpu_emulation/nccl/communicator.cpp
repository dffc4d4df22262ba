#include "tests/gpu_emulation/nccl/communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include <unistd.h>

#include "tests/gpu_emulation/machine.h"

using namespace emulated;

namespace {

/// Whether a rank gives another part to each rank.
bool is_divided(const Call& call) { return call.collective == Collective::reduce_scatter; }

std::string words_of(int rank, const Call& call) {
  return "rank " + std::to_string(rank) + " calls " + name_of(call.collective) + " of " +
         std::to_string(call.count) + " numbers of type " + std::to_string(call.type);
}

std::vector<Access> accesses_of(const std::vector<Request>& requests, size_t ranks) {
  std::vector<Access> accesses;
  for (const auto& [call, from, to] : requests) {
    const size_t bytes = call.count * width_of(static_cast<ncclDataType_t>(call.type));
    const bool gathers = call.collective == Collective::all_gather;
    accesses.push_back({from, is_divided(call) ? bytes * ranks : bytes, /*writes=*/false});
    accesses.push_back({to, gathers ? bytes * ranks : bytes, /*writes=*/true});
  }
  return accesses;
}

}  // namespace

ncclComm::ncclComm(const std::string& name, int rank, int size)
    : rank_(rank), size_(size), group_(name, rank, size) {}

ncclComm::~ncclComm() {
  if (!thread_.joinable()) return;
  post([this] { is_over_ = true; });
  thread_.join();
}

std::string& ncclComm::last_error() {
  thread_local std::string words;
  return words;
}

ncclResult_t ncclComm::fail(ncclResult_t status, const std::string& why) {
  last_error() = why;
  std::fprintf(stderr, "emulated NCCL: rank %d of %d: %s\n", rank_, size_, why.c_str());
  error_ = status;
  return status;
}

ncclResult_t ncclComm::start() {
  if (!group_.is_open()) return fail(ncclSystemError, "the memory that ranks share cannot be opened");
  std::array<char, 15> host{};  // cards of two hosts may have one address
  gethostname(host.data(), host.size() - 1);
  group_.set_card(std::string(host.data()) + " " + current_pci_address());
  if (!group_.wait_for_all(is_aborted_)) {
    group_.forget_name();
    return ncclInternalError;
  }
  for (int a = 0; a < size_; ++a) {
    for (int b = a + 1; b < size_; ++b) {
      if (group_.card_of(a) != group_.card_of(b)) continue;
      return fail(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(a) + " and rank " +
                                        std::to_string(b) + " both on CUDA device " + group_.card_of(a));
    }
  }
  if (rank_ == 0) group_.forget_name();
  thread_ = std::thread([this] { work(); });
  return ncclSuccess;
}

void ncclComm::post(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void ncclComm::work() {
  while (!is_over_) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !tasks_.empty(); });
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

void ncclComm::enqueue(std::vector<Request> requests, cudaStream_t stream) {
  static const std::chrono::milliseconds delay(read_number("EMULATED_NCCL_DELAY_MS", 0));
  const char* const what = name_of(requests.front().call.collective);
  const CollectiveFault fault = fault_of_collective();
  if (fault.fails) fail(ncclRemoteError, "a collective was made to fail");
  const auto ticket = issue(stream, what, accesses_of(requests, static_cast<size_t>(size_)));
  post([this, requests = std::move(requests), ticket, fault] {
    wait_for(ticket.before);
    if (fault.kills) raise(SIGKILL);
    while (fault.sticks && !is_aborted_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (delay.count() > 0) std::this_thread::sleep_for(delay);
    for (const Request& request : requests) perform(request);
    ticket.done->finish();
  });
}

void ncclComm::flush() {
  Completion done;
  post([&done] { done.finish(); });
  done.wait();
}

bool ncclComm::is_agreed(const Call& call) {
  group_.call_of(rank_) = call;
  if (!group_.wait_for_all(is_aborted_)) return false;
  for (int rank = 0; rank < size_; ++rank) {
    const Call& other = group_.call_of(rank);
    if (other == call) continue;
    const std::string why = words_of(rank_, call) + ", and " + words_of(rank, other);
    fail(ncclInvalidUsage, why);
    report_disorder(why);
    return false;
  }
  return group_.wait_for_all(is_aborted_);
}

/// A slot holds a piece of what its rank gives: of each part, where a rank gives one to each.
bool ncclComm::move_piece(const Request& request, size_t first, size_t count, size_t stride) {
  const auto& [call, from, to] = request;
  const auto type = static_cast<ncclDataType_t>(call.type);
  const size_t width = width_of(type), ranks = static_cast<size_t>(size_), own = static_cast<size_t>(rank_);
  const auto* const source = static_cast<const char*>(host_address(from)) + first * width;
  auto* const target = static_cast<char*>(host_address(to)) + first * width;
  const size_t parts = is_divided(call) ? ranks : 1;
  if (call.collective != Collective::broadcast || rank_ == call.root) {
    for (size_t part = 0; part < parts; ++part) {
      std::memcpy(group_.slot_of(rank_) + part * stride * width, source + part * call.count * width,
                  count * width);
    }
  }
  if (!group_.wait_for_all(is_aborted_)) return false;
  std::vector<const void*> slots;
  for (int rank = 0; rank < size_; ++rank) {
    slots.push_back(group_.slot_of(rank) + (is_divided(call) ? own * stride * width : 0));
  }
  if (call.collective == Collective::broadcast) {
    std::memcpy(target, group_.slot_of(call.root), count * width);
  } else if (call.collective == Collective::all_gather) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      std::memcpy(target + rank * call.count * width, slots[rank], count * width);
    }
  } else {
    const bool is_scattered = is_divided(call);
    const size_t before = is_scattered ? own * call.count : 0, all = call.count * (is_scattered ? ranks : 1);
    for (const auto& [begin, end, order] : sums_of(before + first, count, {all, width, ranks})) {
      std::vector<const void*> terms;
      for (const size_t rank : order) terms.push_back(static_cast<const char*>(slots[rank]) + begin * width);
      reduce(type, static_cast<ncclRedOp_t>(call.operation), terms, target + begin * width, end - begin);
    }
  }
  return group_.wait_for_all(is_aborted_);
}

void ncclComm::perform(const Request& request) {
  const Call& call = request.call;
  if (is_aborted_ || error_ != ncclSuccess || !is_agreed(call)) return;
  if (is_traced()) std::fprintf(stderr, "emulated NCCL: %s\n", words_of(rank_, call).c_str());
  const size_t width = width_of(static_cast<ncclDataType_t>(call.type));
  if (!is_kept(call.count * width)) return;
  const size_t numbers = SharedGroup::slot_bytes / width;
  const size_t most = is_divided(call) ? numbers / static_cast<size_t>(size_) : numbers;
  for (size_t first = 0; first < call.count; first += most) {
    if (!move_piece(request, first, std::min(most, call.count - first), most)) return;
  }
}

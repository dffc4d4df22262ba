// A rank's end of a communicator. As on a card, a call returns at once: a thread of the communicator waits
// for what the stream was doing, meets the other ranks, and lets the stream go on. A rank that does not come
// leaves the others waiting, until somebody aborts them.
//   EMULATED_NCCL_DELAY_MS  how long a collective waits before it begins
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu_emulation/nccl/numbers.h"
#include "tests/gpu_emulation/nccl/shared_group.h"
#include "tests/gpu_emulation/runtime/runtime.h"

namespace emulated {

/// A call with its buffers.
struct Request {
  Call call;
  const void* from = nullptr;
  void* to = nullptr;
};

}  // namespace emulated

struct ncclComm {
 public:
  ncclComm(const std::string& name, int rank, int size);
  ~ncclComm();
  ncclComm(const ncclComm&) = delete;
  ncclComm& operator=(const ncclComm&) = delete;

  /// Blocks until all ranks have come.
  ncclResult_t start();
  void enqueue(std::vector<emulated::Request> requests, cudaStream_t stream);
  /// Blocks until all that was enqueued is done.
  void flush();
  void abort() { is_aborted_ = true; }
  /// Prints why, and keeps it for ncclCommGetAsyncError().
  ncclResult_t fail(ncclResult_t status, const std::string& why);

  int rank() const { return rank_; }
  int size() const { return size_; }
  ncclResult_t error() const { return error_; }
  static std::string& last_error();

 private:
  void post(std::function<void()> task);
  void work();
  bool is_agreed(const emulated::Call& call);
  void perform(const emulated::Request& request);
  bool move_piece(const emulated::Request& request, size_t first, size_t count, size_t stride);

  int rank_, size_;
  emulated::SharedGroup group_;
  std::atomic<bool> is_aborted_ = false;
  std::atomic<ncclResult_t> error_ = ncclSuccess;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool is_over_ = false;  // of the thread alone
  std::thread thread_;
};

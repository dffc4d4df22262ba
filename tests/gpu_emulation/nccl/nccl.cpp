// NCCL (libnccl.so.2), as far as libtorch's ProcessGroupNCCL uses it for Larmor.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include <unistd.h>

#include "tests/gpu_emulation/machine.h"
#include "tests/gpu_emulation/nccl/communicator.h"

using namespace emulated;

namespace {

/// Calls between ncclGroupStart and ncclGroupEnd.
struct Grouped {
  ncclComm* communicator;
  cudaStream_t stream;
  std::vector<Request> requests;
};

std::vector<Grouped>& grouped() {
  thread_local std::vector<Grouped> all;
  return all;
}

int& depth() {
  thread_local int groups = 0;
  return groups;
}

ncclResult_t begin(ncclComm* communicator, cudaStream_t stream, const Request& request) {
  const bool is_known = width_of(static_cast<ncclDataType_t>(request.call.type)) > 0 &&
                        is_emulated(static_cast<ncclRedOp_t>(request.call.operation));
  if (!is_known)
    return communicator->fail(ncclInvalidArgument, "a type or an operation that is not emulated");
  if (request.call.count == 0) return ncclSuccess;
  if (refuse_in_capture(stream, "a collective was put on it") != cudaSuccess) return ncclUnhandledCudaError;
  if (!is_device_address(request.from) || !is_device_address(request.to)) {
    return communicator->fail(ncclInvalidArgument, "a buffer lies on the host");
  }
  if (depth() == 0) {
    communicator->enqueue({request}, stream);
  } else if (!grouped().empty() && grouped().back().communicator == communicator &&
             grouped().back().stream == stream) {
    grouped().back().requests.push_back(request);
  } else {
    grouped().push_back({communicator, stream, {request}});
  }
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "no error";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "internal error - please report this issue to the NCCL developers";
  }
}

const char* ncclGetLastError(ncclComm_t) { return ncclComm::last_error().c_str(); }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> count = 0;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::memset(id, 0, sizeof *id);
  // Whoever has started the run removes what it leaves by the run's part of the name (on_emulated_gpus).
  const size_t run = read_number("EMULATED_RUN", 0);
  std::snprintf(id->internal, sizeof id->internal, "/emulated-nccl-%zu-%d-%d-%ld", run, getpid(), ++count,
                now.tv_nsec);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  *communicator = nullptr;
  if (size < 1 || size > SharedGroup::most_ranks || rank < 0 || rank >= size) return ncclInvalidArgument;
  auto made = std::make_unique<ncclComm>(id.internal, rank, size);
  const auto status = made->start();
  if (status == ncclSuccess) *communicator = made.release();
  return status;
}

ncclResult_t ncclCommInitRank(ncclComm_t* communicator, int size, ncclUniqueId id, int rank) {
  return ncclCommInitRankConfig(communicator, size, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* communicator, int size, int rank, int, ncclUniqueId* ids,
                                      ncclConfig_t* config) {
  return ncclCommInitRankConfig(communicator, size, ids[0], rank, config);
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  communicator->flush();
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const std::unique_ptr<ncclComm> owned(communicator);
  return ncclSuccess;
}

/// Of this rank alone: peers on the same host do not learn of it.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  if (communicator != nullptr) communicator->abort();
  return ncclCommDestroy(communicator);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* error) {
  *error = communicator->error();
  return ncclSuccess;
}

ncclResult_t ncclCommCount(ncclComm_t communicator, int* count) {
  *count = communicator->size();
  return ncclSuccess;
}

ncclResult_t ncclCommUserRank(ncclComm_t communicator, int* rank) {
  *rank = communicator->rank();
  return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return cudaMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclMemFree(void* pointer) {
  return cudaFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t ncclCommRegister(ncclComm_t, void*, size_t, void** handle) {
  *handle = nullptr;
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t, void*) { return ncclSuccess; }

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  return begin(communicator, stream, {{Collective::all_reduce, type, operation, 0, count}, from, to});
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  return begin(communicator, stream, {{Collective::reduce_scatter, type, operation, 0, count}, from, to});
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  return begin(communicator, stream, {{Collective::all_gather, type, ncclSum, 0, count}, from, to});
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t communicator, cudaStream_t stream) {
  return begin(communicator, stream, {{Collective::broadcast, type, ncclSum, root, count}, from, to});
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t communicator,
                       cudaStream_t stream) {
  return ncclBroadcast(buffer, buffer, count, type, root, communicator, stream);
}

ncclResult_t ncclGroupStart() {
  ++depth();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--depth() > 0) return ncclSuccess;
  for (Grouped& each : std::exchange(grouped(), {}))
    each.communicator->enqueue(std::move(each.requests), each.stream);
  return ncclSuccess;
}
}

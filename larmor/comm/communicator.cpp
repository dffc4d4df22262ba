#include "larmor/comm/communicator.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace larmor {

Pending::Pending(std::function<void()> wait)
    : wait_(std::make_shared<std::function<void()>>(std::move(wait))) {}

void Pending::wait() {
  if (!wait_ || !*wait_) return;
  (*wait_)();
  // Only after success: a collective that failed fails again when it is asked again.
  *wait_ = nullptr;
}

namespace {

at::Tensor to_tensor(const std::string& bytes, int64_t length, c10::Device device) {
  at::Tensor tensor = at::zeros({length}, at::kByte);
  std::copy(bytes.begin(), bytes.end(), tensor.mutable_data_ptr<uint8_t>());
  return tensor.to(device);
}

std::string to_bytes(const at::Tensor& tensor, int64_t length) {
  const at::Tensor bytes = tensor.cpu();
  const uint8_t* first = bytes.const_data_ptr<uint8_t>();
  return {first, first + length};
}

}  // namespace

std::string broadcast_bytes(Communicator& communicator, const std::string& bytes, int root) {
  at::Tensor length = at::full({1}, static_cast<int64_t>(bytes.size()), at::kLong).to(communicator.device());
  communicator.broadcast(length, root).wait();
  const auto agreed = length.item<int64_t>();
  if (agreed == 0) return {};
  const bool is_root = communicator.rank() == root;
  at::Tensor content = to_tensor(is_root ? bytes : std::string(), agreed, communicator.device());
  communicator.broadcast(content, root).wait();
  return to_bytes(content, agreed);
}

std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes) {
  const c10::Device device = communicator.device();
  const int64_t ranks = communicator.size();
  const at::Tensor own_length = at::full({1}, static_cast<int64_t>(bytes.size()), at::kLong).to(device);
  at::Tensor all_lengths = at::zeros({ranks}, at::kLong).to(device);
  communicator.all_gather(own_length, all_lengths).wait();
  const at::Tensor lengths = all_lengths.cpu();
  // Shorter ones are padded: a collective moves equal shares.
  const auto longest = lengths.max().item<int64_t>();
  std::vector<std::string> all(static_cast<size_t>(ranks));
  if (longest == 0) return all;
  at::Tensor content = at::zeros({ranks * longest}, at::kByte).to(device);
  communicator.all_gather(to_tensor(bytes, longest, device), content).wait();
  const at::Tensor rows = content.cpu().view({ranks, longest});
  for (int64_t rank = 0; rank < ranks; ++rank) {
    all[static_cast<size_t>(rank)] = to_bytes(rows[rank], lengths[rank].item<int64_t>());
  }
  return all;
}

}  // namespace larmor

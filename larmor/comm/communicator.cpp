#include "larmor/comm/communicator.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"

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

// What goes before bytes: how many there are, their hash, and the hash of these two. Three zeros are
// no valid header.
constexpr int64_t header_words = 3;

int64_t hash_of(std::string_view bytes) { return static_cast<int64_t>(fast_hash(bytes)); }

int64_t hash_of_header(int64_t length, int64_t content) {
  const std::array<int64_t, 2> words{length, content};
  std::string bytes(sizeof(words), '\0');
  std::memcpy(bytes.data(), words.data(), sizeof(words));
  return hash_of(bytes);
}

at::Tensor header_of(const std::string& bytes) {
  const auto length = static_cast<int64_t>(bytes.size());
  const int64_t content = hash_of(bytes);
  return at::tensor({length, content, hash_of_header(length, content)}, at::kLong);
}

/// A collective that has failed on the device may still end on the host: with what was in memory before.
[[noreturn]] void refuse_broken(const Communicator& communicator, int64_t sender) {
  // NCCL ends the rank whose collective has failed by and by: that one is the reason, and is to be named.
  constexpr auto until_nccl_tells = std::chrono::seconds(3);
  if (!communicator.device().is_cpu()) std::this_thread::sleep_for(until_nccl_tells);
  fail(Exit::rank_lost,
       text("rank ", communicator.rank(), " received from rank ", sender, " what no rank has sent"),
       "look at the end of the others' log files: a collective has failed");
}

/// `header` [3], on the host.
int64_t length_in(const at::Tensor& header, const Communicator& communicator, int64_t sender) {
  const auto* const words = header.const_data_ptr<int64_t>();
  if (words[0] < 0 || words[2] != hash_of_header(words[0], words[1])) refuse_broken(communicator, sender);
  return words[0];
}

std::string checked(std::string bytes, const at::Tensor& header, const Communicator& communicator,
                    int64_t sender) {
  if (hash_of(bytes) != header.const_data_ptr<int64_t>()[1]) refuse_broken(communicator, sender);
  return bytes;
}

}  // namespace

std::string broadcast_bytes(Communicator& communicator, const std::string& bytes, int root) {
  const bool is_root = communicator.rank() == root;
  at::Tensor header =
      (is_root ? header_of(bytes) : at::zeros({header_words}, at::kLong)).to(communicator.device());
  communicator.broadcast(header, root).wait();
  header = header.cpu();
  const int64_t agreed = length_in(header, communicator, root);
  if (agreed == 0) return checked({}, header, communicator, root);
  at::Tensor content = to_tensor(is_root ? bytes : std::string(), agreed, communicator.device());
  communicator.broadcast(content, root).wait();
  return checked(to_bytes(content, agreed), header, communicator, root);
}

std::vector<std::string> all_gather_bytes(Communicator& communicator, const std::string& bytes) {
  const c10::Device device = communicator.device();
  const int64_t ranks = communicator.size();
  at::Tensor headers = at::zeros({ranks * header_words}, at::kLong).to(device);
  communicator.all_gather(header_of(bytes).to(device), headers).wait();
  headers = headers.cpu().view({ranks, header_words});
  std::vector<int64_t> lengths;
  for (int64_t rank = 0; rank < ranks; ++rank)
    lengths.push_back(length_in(headers[rank], communicator, rank));
  // Shorter ones are padded: a collective moves equal shares.
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  at::Tensor content = at::zeros({ranks * longest}, at::kByte).to(device);
  if (longest > 0) communicator.all_gather(to_tensor(bytes, longest, device), content).wait();
  const at::Tensor rows = content.cpu().view({ranks, longest});
  std::vector<std::string> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back(
        checked(to_bytes(rows[rank], lengths[static_cast<size_t>(rank)]), headers[rank], communicator, rank));
  return all;
}

}  // namespace larmor

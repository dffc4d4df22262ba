#include "tests/comm/support/collective_contract.h"

#include <string>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace larmor::testing {
namespace {

at::Tensor row(double first, double step, int64_t count, at::ScalarType type = at::kFloat) {
  return (torch::arange(count, at::kDouble) * step + first).to(type);
}

void check_reductions(Communicator& communicator, at::ScalarType type) {
  const int size = communicator.size(), rank = communicator.rank();
  const double rank_sum = size * (size - 1) / 2.0;
  const struct {
    Reduce operation;
    double first, step;
  } cases[] = {{Reduce::sum, rank_sum, 2.0 * size},
               {Reduce::mean, rank_sum / size, 2.0},
               {Reduce::min, 0.0, 2.0},
               {Reduce::max, size - 1.0, 2.0}};
  for (const auto& [operation, first, step] : cases) {
    at::Tensor tensor = row(rank, 2.0, 5, type);
    communicator.all_reduce(tensor, operation).wait();
    EXPECT_TRUE(torch::equal(tensor, row(first, step, 5, type)))
        << "rank " << rank << ", operation " << static_cast<int>(operation) << ": " << tensor;

    const at::Tensor full = row(rank, 2.0, 3L * size, type);
    at::Tensor shard = torch::zeros({3}, type);
    communicator.reduce_scatter(full, shard, operation).wait();
    EXPECT_TRUE(torch::equal(shard, row(first, step, 3L * size, type).narrow(0, 3L * rank, 3)))
        << "rank " << rank << ", operation " << static_cast<int>(operation) << ": " << shard;
    EXPECT_TRUE(torch::equal(full, row(rank, 2.0, 3L * size, type))) << "the input of reduce_scatter moved";
  }
}

void check_copies(Communicator& communicator) {
  const int size = communicator.size(), rank = communicator.rank();
  at::Tensor full = torch::full({size, 2}, -1, at::kLong);
  communicator.all_gather(torch::full({2}, 10 + rank, at::kLong), full).wait();
  for (int peer = 0; peer < size; ++peer) EXPECT_EQ(full[peer][1].item<int64_t>(), 10 + peer);

  at::Tensor word = torch::full({3}, 100.0 + rank, at::kDouble);
  communicator.broadcast(word, size - 1).wait();
  EXPECT_EQ(word[2].item<double>(), 99.0 + size);

  const std::string own(static_cast<size_t>(3 * rank), static_cast<char>('a' + rank));
  const std::vector<std::string> all = all_gather_bytes(communicator, own);
  ASSERT_EQ(all.size(), static_cast<size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    EXPECT_EQ(all[static_cast<size_t>(peer)],
              std::string(static_cast<size_t>(3 * peer), static_cast<char>('a' + peer)));
  }
  const std::string binary("\0\xff end", 6);
  EXPECT_EQ(broadcast_bytes(communicator, rank == 0 ? binary : "something longer than that", 0), binary);
  EXPECT_EQ(broadcast_bytes(communicator, rank == 0 ? "" : "x", 0), "");
}

void check_overlap(Communicator& communicator) {
  const int size = communicator.size(), rank = communicator.rank();
  const std::unique_ptr<Communicator> other = communicator.duplicate();
  EXPECT_EQ(other->rank(), rank);
  EXPECT_EQ(other->size(), size);
  std::vector<at::Tensor> tensors;
  std::vector<Pending> pending;
  for (int n = 0; n < 8; ++n) {
    tensors.push_back(torch::full({1000}, 1.0 + n, at::kFloat));
    pending.push_back((n % 2 ? *other : communicator).all_reduce(tensors.back(), Reduce::mean));
  }
  for (size_t n = pending.size(); n-- > 0;) {
    pending[n].wait();
    pending[n].wait();  // a second wait must not divide again
    EXPECT_EQ(tensors[n].min().item<float>(), 1.0F + static_cast<float>(n));
  }
  other->barrier();
}

}  // namespace

void check_collectives(Communicator& communicator) {
  check_reductions(communicator, at::kFloat);
  check_reductions(communicator, at::kDouble);
  check_copies(communicator);
  check_overlap(communicator);
  const std::unique_ptr<Communicator> on_host = communicator.duplicate_on_host();
  EXPECT_TRUE(on_host->device().is_cpu());
  check_copies(*on_host);
  communicator.barrier();
}

}  // namespace larmor::testing

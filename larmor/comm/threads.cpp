// Ranks as threads of one process. A collective is a round, found by its number in the order of calls;
// the last rank to arrive does the work for all, in rank order, so that no bit depends on who came when.
#include <cassert>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"

namespace larmor {
namespace {

enum class Operation { all_reduce, reduce_scatter, all_gather, broadcast, barrier, duplicate };

const char* name_of(Operation operation) {
  constexpr const char* names[] = {"all_reduce", "reduce_scatter", "all_gather",
                                   "broadcast",  "barrier",        "duplicate"};
  return names[static_cast<int>(operation)];
}

/// What one rank asks for. `input` and `output` may be the same tensor.
struct Request {
  Operation operation = Operation::barrier;
  Reduce reduce = Reduce::sum;
  int root = 0;
  at::Tensor input, output;
};

std::string describe(const Request& request) {
  std::string out = name_of(request.operation);
  if (request.input.defined()) {
    out += text(" of ", request.input.numel(), " x ", c10::toString(request.input.scalar_type()));
  }
  return out;
}

struct SharedGroup;

struct Round {
  explicit Round(size_t ranks) : requests(ranks), arrived(ranks, false) {}
  std::vector<Request> requests;
  std::vector<bool> arrived;
  size_t arrivals = 0;
  bool done = false;
  std::string mistake;                 // ranks that asked for different things
  std::shared_ptr<SharedGroup> group;  // what a duplicate gives
};

/// What the ranks share.
struct SharedGroup {
  explicit SharedGroup(size_t ranks) : gone(ranks, false) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int64_t, std::shared_ptr<Round>> rounds;  // not complete yet
  std::vector<bool> gone;                            // destroyed or aborted
};

at::Tensor reduce_in_rank_order(const std::vector<Request>& requests) {
  const Reduce operation = requests[0].reduce;
  at::Tensor total = requests[0].input.detach().clone();
  for (size_t rank = 1; rank < requests.size(); ++rank) {
    const at::Tensor& next = requests[rank].input;
    if (operation == Reduce::min) {
      at::minimum_out(total, total, next);
    } else if (operation == Reduce::max) {
      at::maximum_out(total, total, next);
    } else {
      total.add_(next);
    }
  }
  if (operation == Reduce::mean) total.div_(static_cast<int64_t>(requests.size()));
  return total;
}

void carry_out(Round& round) {
  const at::NoGradGuard no_grad;
  std::vector<Request>& requests = round.requests;
  const auto ranks = static_cast<int64_t>(requests.size());
  for (size_t rank = 1; rank < requests.size(); ++rank) {
    if (describe(requests[rank]) != describe(requests[0])) {
      round.mistake = text("ranks disagree: rank 0 calls ", describe(requests[0]), ", rank ", rank, " calls ",
                           describe(requests[rank]));
      return;
    }
  }
  switch (requests[0].operation) {
    case Operation::all_reduce: {
      const at::Tensor total = reduce_in_rank_order(requests);
      for (const Request& request : requests) request.output.detach().copy_(total);
      break;
    }
    case Operation::reduce_scatter: {
      const at::Tensor total = reduce_in_rank_order(requests).view({ranks, -1});
      for (int64_t rank = 0; rank < ranks; ++rank) {
        requests[static_cast<size_t>(rank)].output.detach().view({-1}).copy_(total[rank]);
      }
      break;
    }
    case Operation::all_gather:
      for (const Request& request : requests) {
        const at::Tensor rows = request.output.detach().view({ranks, -1});
        for (int64_t rank = 0; rank < ranks; ++rank) {
          rows[rank].copy_(requests[static_cast<size_t>(rank)].input.detach().view({-1}));
        }
      }
      break;
    case Operation::broadcast: {
      const at::Tensor source = requests[static_cast<size_t>(requests[0].root)].input.detach();
      for (const Request& request : requests) {
        if (!request.output.is_same(source)) request.output.detach().copy_(source);
      }
      break;
    }
    case Operation::duplicate:
      round.group = std::make_shared<SharedGroup>(requests.size());
      break;
    case Operation::barrier:
      break;
  }
}

class ThreadRank final : public Communicator {
 public:
  ThreadRank(std::shared_ptr<SharedGroup> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~ThreadRank() override { leave(); }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->gone.size()); }

  Pending all_reduce(at::Tensor tensor, Reduce operation) override {
    assert(operation != Reduce::mean || tensor.is_floating_point());
    return pending(ask({Operation::all_reduce, operation, 0, tensor, tensor}), Operation::all_reduce);
  }
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override {
    assert(full.numel() == shard.numel() * size());
    return pending(ask({Operation::reduce_scatter, operation, 0, full, std::move(shard)}),
                   Operation::reduce_scatter);
  }
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override {
    assert(full.numel() == shard.numel() * size());
    return pending(ask({Operation::all_gather, Reduce::sum, 0, shard, std::move(full)}),
                   Operation::all_gather);
  }
  Pending broadcast(at::Tensor tensor, int root) override {
    return pending(ask({Operation::broadcast, Reduce::sum, root, tensor, tensor}), Operation::broadcast);
  }
  void barrier() override {
    pending(ask({Operation::barrier, Reduce::sum, 0, {}, {}}), Operation::barrier).wait();
  }
  std::unique_ptr<Communicator> duplicate() override {
    const std::shared_ptr<Round> round = ask({Operation::duplicate, Reduce::sum, 0, {}, {}});
    pending(round, Operation::duplicate).wait();
    return std::make_unique<ThreadRank>(round->group, rank_);
  }
  void abort() override { leave(); }

 private:
  std::shared_ptr<Round> ask(Request request) {
    const auto own = static_cast<size_t>(rank_);
    std::unique_lock lock(group_->mutex);
    number_ += 1;
    std::shared_ptr<Round>& entry = group_->rounds[number_];
    if (!entry) entry = std::make_shared<Round>(group_->gone.size());
    const std::shared_ptr<Round> round = entry;
    round->requests[own] = std::move(request);
    round->arrived[own] = true;
    round->arrivals += 1;
    if (round->arrivals < round->arrived.size()) return round;

    group_->rounds.erase(number_);
    lock.unlock();
    // Nobody else touches a complete round until it is done.
    try {
      carry_out(*round);
    } catch (const std::exception& error) {
      round->mistake = error.what();
    }
    lock.lock();
    round->done = true;
    round->requests.clear();
    group_->changed.notify_all();
    return round;
  }

  Pending pending(std::shared_ptr<Round> round, Operation operation) const {
    const std::string what = text(name_of(operation), " #", number_);
    return Pending([group = group_, round = std::move(round), rank = rank_, what] {
      std::unique_lock lock(group->mutex);
      const auto missing = [&] {
        for (size_t peer = 0; peer < round->arrived.size(); ++peer) {
          if (group->gone[peer] && !round->arrived[peer]) return static_cast<int>(peer);
        }
        return -1;
      };
      group->changed.wait(
          lock, [&] { return round->done || group->gone[static_cast<size_t>(rank)] || missing() >= 0; });
      if (!round->mistake.empty()) fail(Exit::unexpected, round->mistake);
      if (round->done) return;
      if (missing() >= 0) {
        fail(Exit::rank_lost,
             text("rank ", rank, " waits in ", what, " for rank ", missing(), ", which is gone"));
      }
      fail(Exit::rank_lost, text("rank ", rank, " gave up ", what));
    });
  }

  void leave() {
    const std::lock_guard lock(group_->mutex);
    group_->gone[static_cast<size_t>(rank_)] = true;
    group_->changed.notify_all();
  }

  std::shared_ptr<SharedGroup> group_;
  int rank_;
  int64_t number_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> make_thread_ranks(int size) {
  assert(size >= 1);
  const auto group = std::make_shared<SharedGroup>(static_cast<size_t>(size));
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.push_back(std::make_unique<ThreadRank>(group, rank));
  return ranks;
}

}  // namespace larmor

#include "larmor/comm/group.h"

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <c10/util/Exception.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/comm/peer_watch.h"
#include "larmor/comm/rank_store.h"

namespace larmor {
namespace {

c10d::ReduceOp to_operation(Reduce reduce, [[maybe_unused]] const at::Tensor& tensor) {
  switch (reduce) {
    case Reduce::mean:
      // Backends average in ways of their own; the sum, divided afterwards, is the same everywhere.
      assert(tensor.is_floating_point());
      return c10d::ReduceOp::SUM;
    case Reduce::sum:
      return c10d::ReduceOp::SUM;
    case Reduce::min:
      return c10d::ReduceOp::MIN;
    case Reduce::max:
      return c10d::ReduceOp::MAX;
  }
  return c10d::ReduceOp::SUM;
}

}  // namespace

struct Group::Watch {
  int rank, size;
  std::chrono::milliseconds limit;
  std::mutex mutex;
  std::condition_variable changed;
  bool aborted = false, lost_peer = false;
  int64_t unfinished = 0;  // collectives that nobody has waited for, or that have failed

  void abort(bool has_lost_peer);
  bool leaves_nothing();
  [[noreturn]] void give_up(const std::string& operation) const;
  [[noreturn]] void lose(const std::string& operation, const std::string& reason);
};

void Group::Watch::abort(bool has_lost_peer) {
  const std::lock_guard lock(mutex);
  lost_peer = lost_peer || (has_lost_peer && !aborted);
  aborted = true;
  changed.notify_all();
}

bool Group::Watch::leaves_nothing() {
  const std::lock_guard lock(mutex);
  return unfinished == 0 && !aborted;
}

/// Requires: the lock.
void Group::Watch::give_up(const std::string& operation) const {
  if (!lost_peer) fail(Exit::rank_lost, text("rank ", rank, " gave up ", operation, ": aborted"));
  fail(Exit::rank_lost, text("rank ", rank, " gave up ", operation, ": another rank has ended"),
       "its log says why");
}

void Group::Watch::lose(const std::string& operation, const std::string& reason) {
  {
    const std::lock_guard lock(mutex);
    if (aborted) give_up(operation);
  }
  const std::string words = lower(reason);
  if (words.find("timed out") != std::string::npos || words.find("timeout") != std::string::npos) {
    fail(Exit::rank_lost,
         text("rank ", rank, " waited ", duration_text(limit), " for its peers in ", operation),
         "a rank hangs or is far behind: the status lines and logs of the others show where");
  }
  fail(Exit::rank_lost, text("rank ", rank, " lost connection to a peer in ", operation, " (", reason, ")"),
       "another rank has ended; its log says why");
}

/// Gloo cannot end a receive from a silent peer before its limit, so an abort has to end the wait for it.
void Group::sleep_until_done(const std::shared_ptr<Watch>& watch, const Work& work) {
  const auto done = std::make_shared<bool>(false);
  work->getFuture()->addCallback([watch, done](c10::ivalue::Future&) {
    const std::lock_guard lock(watch->mutex);
    *done = true;
    watch->changed.notify_all();
  });
  std::unique_lock lock(watch->mutex);
  watch->changed.wait(lock, [&] { return *done || watch->aborted; });
  if (!*done) throw std::runtime_error("aborted");
}

Group::Group(Backends make, std::string name, c10::Device device, std::chrono::milliseconds limit)
    : make_(std::move(make)),
      name_(std::move(name)),
      device_(device),
      limit_(limit),
      backend_(make_.own(name_)),
      watch_(std::make_shared<Watch>()) {
  watch_->rank = rank();
  watch_->size = size();
  watch_->limit = limit;
  if (make_.peers) make_.peers->add(*this);
}

Group::~Group() {
  if (make_.peers) make_.peers->remove(*this);
  // A backend's destructor waits for the work that it has accepted. When this rank leaves early, that
  // work will never be joined by the others, who in their turn wait for us.
  const bool finished =
      std::all_of(under_way_.begin(), under_way_.end(), [](const Work& work) { return work->isCompleted(); });
  if (device_.is_cuda()) {
    // Kernels may still run although every wait() has returned: the others join those, and shutdown() waits.
    if (watch_->leaves_nothing()) {
      backend_->shutdown();
    } else {
      backend_->abort();
    }
    return;
  }
  if (finished) return;
  backend_->abort();
  // Its threads sleep until the limit: this process will end before. The connections are closed.
  static_cast<void>(backend_.release());
}

Pending Group::begin(const char* operation, const std::function<Work()>& start, std::function<void()> after) {
  const std::string what = text(operation, " #", ++calls_);
  while (!under_way_.empty() && under_way_.front()->isCompleted()) under_way_.pop_front();
  {
    const std::lock_guard lock(watch_->mutex);
    if (watch_->aborted) watch_->give_up(what);
    ++watch_->unfinished;
  }
  Work work;
  try {
    const at::NoGradGuard no_grad;
    work = start();
  } catch (const c10::DistError& error) {
    watch_->lose(what, one_line(error));
  }
  under_way_.push_back(work);
  return Pending([watch = watch_, on_host = device_.is_cpu(), what, work, after = std::move(after)] {
    try {
      if (on_host && !work->isCompleted()) sleep_until_done(watch, work);
      work->wait();
    } catch (const std::exception& error) {
      watch->lose(what, one_line(error));
    }
    {
      const std::lock_guard lock(watch->mutex);
      --watch->unfinished;
    }
    if (!after) return;
    const at::NoGradGuard no_grad;
    after();
  });
}

Pending Group::all_reduce(at::Tensor tensor, Reduce operation) {
  const at::Tensor values = tensor.detach();
  const auto start = [&] {
    c10d::AllreduceOptions options;
    options.reduceOp = to_operation(operation, values);
    std::vector<at::Tensor> tensors{values};
    return backend_->allreduce(tensors, options);
  };
  if (operation != Reduce::mean) return begin("all_reduce", start);
  return begin("all_reduce", start, [values, ranks = size()] { values.div_(ranks); });
}

Pending Group::reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) {
  assert(full.numel() == shard.numel() * size());
  const at::Tensor input = full.detach().view({-1}), output = shard.detach().view({-1});
  if (device_.is_cpu()) {
    // Gloo's own one is an all-reduce too, but blocks in a way that an abort cannot end.
    const at::Tensor sums = input.clone();
    Pending reduced = all_reduce(sums, operation);
    return Pending([=, rank = rank()]() mutable {
      reduced.wait();
      output.copy_(sums.narrow(0, rank * output.numel(), output.numel()));
    });
  }
  const auto start = [&] {
    c10d::ReduceScatterOptions options;
    options.reduceOp = to_operation(operation, input);
    at::Tensor to = output, from = input;
    return backend_->_reduce_scatter_base(to, from, options);
  };
  if (operation != Reduce::mean) return begin("reduce_scatter", start);
  return begin("reduce_scatter", start, [output, ranks = size()] { output.div_(ranks); });
}

Pending Group::all_gather(const at::Tensor& shard, at::Tensor full) {
  assert(full.numel() == shard.numel() * size());
  return begin("all_gather", [&] {
    at::Tensor input = shard.detach().view({-1}), output = full.detach().view({-1});
    return backend_->_allgather_base(output, input);
  });
}

Pending Group::broadcast(at::Tensor tensor, int root) {
  return begin("broadcast", [&] {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> tensors{tensor.detach()};
    return backend_->broadcast(tensors, options);
  });
}

void Group::barrier() {
  begin("barrier", [&] {
    c10d::BarrierOptions options;
    options.device = device_;
    return backend_->barrier(options);
  }).wait();
}

std::unique_ptr<Communicator> Group::duplicate() { return make_twin(make_, device_); }

std::unique_ptr<Communicator> Group::duplicate_on_host() {
  return make_twin({.own = make_.on_host, .on_host = make_.on_host, .peers = make_.peers}, c10::kCPU);
}

std::unique_ptr<Communicator> Group::make_twin(Backends make, c10::Device device) {
  const std::string name = text(name_, ".", ++duplicates_);
  try {
    return std::make_unique<Group>(std::move(make), name, device, limit_);
  } catch (const std::exception& error) {
    watch_->lose(text("duplicate #", duplicates_), one_line(error));
  }
}

void Group::abort() {
  watch_->abort(/*has_lost_peer=*/false);
  backend_->abort();
}

void Group::lose_peer() {
  watch_->abort(/*has_lost_peer=*/true);
  backend_->abort();
}

}  // namespace larmor

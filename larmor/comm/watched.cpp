#include "larmor/comm/watched.h"

#include <atomic>
#include <thread>
#include <utility>

namespace larmor {
namespace {

ElementKind element_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool:
      return ElementKind::boolean;
    case at::kByte:
      return ElementKind::uint8;
    case at::kChar:
      return ElementKind::int8;
    case at::kShort:
      return ElementKind::int16;
    case at::kInt:
      return ElementKind::int32;
    case at::kLong:
      return ElementKind::int64;
    case at::kHalf:
      return ElementKind::float16;
    case at::kBFloat16:
      return ElementKind::bfloat16;
    case at::kFloat:
      return ElementKind::float32;
    case at::kDouble:
      return ElementKind::float64;
    default:
      return ElementKind::other;
  }
}

class Observed final : public Communicator {
 public:
  /// Borrows `inner`. `groups` counts those of the whole family.
  Observed(Communicator& inner, std::shared_ptr<CollectiveObserver> observer,
           std::shared_ptr<std::atomic<int>> groups)
      : inner_(&inner),
        observer_(std::move(observer)),
        groups_(std::move(groups)),
        group_(groups_->fetch_add(1)) {}
  Observed(std::unique_ptr<Communicator> inner, std::shared_ptr<CollectiveObserver> observer,
           std::shared_ptr<std::atomic<int>> groups)
      : Observed(*inner, std::move(observer), std::move(groups)) {
    owned_ = std::move(inner);
  }

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  c10::Device device() const override { return inner_->device(); }
  void abort() override { inner_->abort(); }

  Pending all_reduce(at::Tensor tensor, Reduce operation) override {
    return observe(CollectiveKind::all_reduce, tensor, [&] { return inner_->all_reduce(tensor, operation); });
  }
  Pending reduce_scatter(const at::Tensor& full, at::Tensor shard, Reduce operation) override {
    return observe(CollectiveKind::reduce_scatter, full,
                   [&] { return inner_->reduce_scatter(full, shard, operation); });
  }
  Pending all_gather(const at::Tensor& shard, at::Tensor full) override {
    return observe(CollectiveKind::all_gather, full, [&] { return inner_->all_gather(shard, full); });
  }
  Pending broadcast(at::Tensor tensor, int root) override {
    return observe(CollectiveKind::broadcast, tensor, [&] { return inner_->broadcast(tensor, root); });
  }
  void barrier() override {
    block({.kind = CollectiveKind::barrier}, [&] { inner_->barrier(); });
  }
  std::unique_ptr<Communicator> duplicate() override {
    std::unique_ptr<Communicator> twin;
    block({.kind = CollectiveKind::duplicate}, [&] { twin = inner_->duplicate(); });
    return std::make_unique<Observed>(std::move(twin), observer_, groups_);
  }
  std::unique_ptr<Communicator> duplicate_on_host() override {
    std::unique_ptr<Communicator> twin;
    block({.kind = CollectiveKind::duplicate}, [&] { twin = inner_->duplicate_on_host(); });
    return std::make_unique<Observed>(std::move(twin), observer_, groups_);
  }

 private:
  using Ticket = CollectiveObserver::Ticket;
  class Lap {
   public:
    Lap(CollectiveObserver& observer, const Ticket& ticket) : observer_(observer), ticket_(ticket) {
      observer_.holds_up(ticket_);
    }
    ~Lap() { observer_.lets_go(ticket_); }
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;

   private:
    CollectiveObserver& observer_;
    const Ticket& ticket_;
  };

  Ticket begin(Collective collective) {
    collective.group = group_;
    collective.number = ++number_;
    return observer_->begins(collective);
  }

  template <class Start>
  Pending observe(CollectiveKind kind, const at::Tensor& tensor, const Start& start) {
    const Ticket ticket = begin({.kind = kind, .elements = tensor.numel(), .element = element_of(tensor)});
    // A first collective may connect before it starts.
    const Lap starting(*observer_, ticket);
    return Pending([observer = observer_, ticket, pending = start()]() mutable {
      {
        const Lap waiting(*observer, ticket);
        pending.wait();
      }
      observer->ends(ticket);
    });
  }

  template <class Call>
  void block(const Collective& collective, const Call& call) {
    const Ticket ticket = begin(collective);
    {
      const Lap waiting(*observer_, ticket);
      call();
    }
    observer_->ends(ticket);
  }

  std::unique_ptr<Communicator> owned_;
  Communicator* inner_;
  std::shared_ptr<CollectiveObserver> observer_;
  std::shared_ptr<std::atomic<int>> groups_;
  int group_;
  int64_t number_ = 0;
};

class BoardObserver final : public CollectiveObserver {
 public:
  BoardObserver(StatusBoard& board, int rank)
      : board_(board), rank_(rank), training_(std::this_thread::get_id()) {}

  Ticket begins(const Collective& collective) override { return board_.begin(rank_, collective); }
  void holds_up(const Ticket& ticket) override { board_.hold(rank_, waiter(), ticket); }
  void lets_go(const Ticket&) override { board_.release(rank_, waiter()); }
  void ends(const Ticket& ticket) override { board_.finish(rank_, ticket); }

 private:
  StatusBoard::Waiter waiter() const {
    return std::this_thread::get_id() == training_ ? StatusBoard::Waiter::training
                                                   : StatusBoard::Waiter::background;
  }

  StatusBoard& board_;
  int rank_;
  std::thread::id training_;
};

}  // namespace

std::unique_ptr<Communicator> observed(std::unique_ptr<Communicator> inner,
                                       std::shared_ptr<CollectiveObserver> observer) {
  return std::make_unique<Observed>(std::move(inner), std::move(observer),
                                    std::make_shared<std::atomic<int>>(0));
}

std::unique_ptr<Communicator> observed(Communicator& inner, std::shared_ptr<CollectiveObserver> observer) {
  return std::make_unique<Observed>(inner, std::move(observer), std::make_shared<std::atomic<int>>(0));
}

std::unique_ptr<Communicator> watched(std::unique_ptr<Communicator> inner, StatusBoard& board) {
  const int rank = inner->rank();
  return observed(std::move(inner), std::make_shared<BoardObserver>(board, rank));
}

}  // namespace larmor

#include "larmor/measure/collective_meter.h"

#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;

/// Rank 1 comes this much later than rank 0 to every collective, however late rank 0 is: on a busy machine a
/// thread may wait for its core for longer than that.
constexpr milliseconds delay(60);
std::counting_semaphore<> rank_0_comes(0);

/// A rank's communicator and what measures it.
struct Metered {
  explicit Metered(Communicator& inner)
      : meter(std::make_shared<CollectiveMeter>(inner.device())), communicator(observed(inner, meter)) {}
  int rank() const { return communicator->rank(); }

  std::shared_ptr<CollectiveMeter> meter;
  std::unique_ptr<Communicator> communicator;
};

double held_up(Metered& metered, const std::function<void(Communicator&)>& collective) {
  metered.meter->take_seconds();
  if (metered.rank() == 0) {
    rank_0_comes.release();
  } else {
    rank_0_comes.acquire();
    std::this_thread::sleep_for(delay);
  }
  collective(*metered.communicator);
  return metered.meter->take_seconds();
}

void expect_only_rank_0_waited(Metered& metered, const std::function<void(Communicator&)>& collective) {
  const double seconds = held_up(metered, collective);
  if (metered.rank() == 0) {
    EXPECT_GT(seconds, 0.5 * std::chrono::duration<double>(delay).count());
  } else {
    EXPECT_LT(seconds, 0.5 * std::chrono::duration<double>(delay).count());
  }
  EXPECT_EQ(metered.meter->take_seconds(), 0) << "what was taken is gone";
}

TEST(CollectiveMeter, CountsTheTimeInWhichACollectiveHoldsItsCallerUp) {
  testing::run_thread_ranks(2, [](Communicator& inner) {
    Metered metered(inner);
    expect_only_rank_0_waited(metered, [](Communicator& communicator) {
      const auto values = torch::ones({2});
      communicator.all_reduce(values, Reduce::sum).wait();
      EXPECT_EQ(values[0].item<float>(), 2);
    });
    expect_only_rank_0_waited(metered, [](Communicator& communicator) {
      const auto shard = torch::full({1}, static_cast<float>(communicator.rank())), whole = torch::zeros({2});
      communicator.all_gather(shard, whole).wait();
      EXPECT_EQ(whole[1].item<float>(), 1);
    });
    expect_only_rank_0_waited(metered, [](Communicator& communicator) {
      const auto whole = torch::ones({2}), shard = torch::zeros({1});
      communicator.reduce_scatter(whole, shard, Reduce::sum).wait();
      EXPECT_EQ(shard[0].item<float>(), 2);
    });
    expect_only_rank_0_waited(metered, [](Communicator& communicator) { communicator.barrier(); });
  });
}

TEST(CollectiveMeter, DoesNotCountWhatIsHiddenBehindWork) {
  testing::run_thread_ranks(2, [](Communicator& inner) {
    Metered metered(inner);
    const double seconds = held_up(metered, [](Communicator& communicator) {
      const auto values = torch::ones({2});
      auto pending = communicator.all_reduce(values, Reduce::sum);
      if (communicator.rank() == 0) std::this_thread::sleep_for(2 * delay);
      pending.wait();
    });
    if (metered.rank() == 0) {
      EXPECT_LT(seconds, 0.5 * std::chrono::duration<double>(delay).count());
    }
  });
}

TEST(CollectiveMeter, CountsItsDuplicatesToo) {
  testing::run_thread_ranks(2, [](Communicator& inner) {
    Metered metered(inner);
    const auto twin = metered.communicator->duplicate();
    expect_only_rank_0_waited(metered, [&](Communicator&) { twin->barrier(); });
  });
}

}  // namespace
}  // namespace larmor

#include "larmor/comm/peer_watch.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <signal.h>
#include <torch/types.h>

#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/launch/stop_signal.h"

#include "tests/comm/support/rank_threads.h"

namespace larmor {
namespace {

/// Rank 0 waits for one that computes on and on; then the launcher says that a third one has ended.
void lose_a_peer() {
  watch_stop_signals();
  const auto errors = testing::try_gloo_ranks(2, std::chrono::seconds(60), [](Communicator& communicator) {
    const auto twin = communicator.duplicate();
    at::Tensor tensor = torch::ones({4});
    if (communicator.rank() == 0) return twin->all_reduce(tensor, Reduce::sum).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    kill(getpid(), lost_peer_signal());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    communicator.all_reduce(tensor, Reduce::sum).wait();
  });
  for (const auto& error : errors) std::fprintf(stderr, "%s;", testing::message_of(error).c_str());
  std::exit(0);
}

/// Which of two true reasons a rank names depends on who is first: the launcher's word that a third rank has
/// ended, or the end of a peer that has heard it.
std::string ending_of(int rank) {
  return text("rank ", rank,
              " (gave up all_reduce #1: another rank has ended|lost connection to a peer in all_reduce #1)");
}

// The flag belongs to the process, so the case runs in one of its own.
TEST(PeerWatch, EndsWhatWaitsForAPeerAndWhatIsBegunLater) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(lose_a_peer(), ::testing::ExitedWithCode(0), text(ending_of(0), "(.|\n)*", ending_of(1)));
}

}  // namespace
}  // namespace larmor

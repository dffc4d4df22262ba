#include "larmor/run/standing/start_heartbeat.h"

#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"

#include "tests/support/strangers.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

TEST(StartHeartbeat, IsRenewedUntilTheStartEnds) {
  const ScratchFolder scratch;
  const RunFolder folder{scratch.path()};
  const auto file = folder.root / ".heartbeat";
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  EXPECT_FALSE(has_heartbeat(folder));
  {
    const StartHeartbeat heartbeat(folder, std::chrono::milliseconds(1));
    for (int time = 0; time < 2; ++time) {
      while (!has_heartbeat(folder)) std::this_thread::yield();
      fs::last_write_time(file, long_ago);
    }
    while (!has_heartbeat(folder)) std::this_thread::yield();
  }
  EXPECT_FALSE(fs::exists(file));
}

TEST(StartHeartbeat, OfAStartThatWasKilledIsOverAfterAMinute) {
  const ScratchFolder scratch;
  const RunFolder folder{scratch.path()};
  const auto file = folder.root / ".heartbeat";
  std::ofstream(file).put('\n');
  EXPECT_TRUE(has_heartbeat(folder));
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::seconds(61));
  EXPECT_FALSE(has_heartbeat(folder));
}

TEST(StartHeartbeat, LeavesWhatIsCalledLikeIt) {
  const ScratchFolder scratch;
  const RunFolder folder{scratch.path()};
  const Strangers strangers(scratch.path() / "outside", {folder.root / ".heartbeat"});
  {
    const StartHeartbeat heartbeat(folder, std::chrono::milliseconds(1));
  }
  strangers.expect_there();
}

}  // namespace
}  // namespace larmor::testing

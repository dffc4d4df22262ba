// Types of launch that own something, made where they cannot be.
#include "tests/support/failing_starts.h"

#include <sys/stat.h>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/launch/hosts/local_host.h"
#include "larmor/launch/signal_pipe.h"
#include "larmor/net/key_file.h"
#include "larmor/net/run_key.h"
#include "larmor/net/socket.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

TEST(FailingStarts, OfPipesKeysAndSocketsLeaveNothing) {
  testing::expect_nothing_left_without_descriptors([] { SignalPipe(); });
  testing::expect_nothing_left_without_descriptors([] { static_cast<void>(RunKey::draw().to_descriptor()); });
  testing::expect_nothing_left_without_descriptors([] { Listener("127.0.0.1", 0); });
  const Listener taken("127.0.0.1", 0);
  testing::expect_nothing_left([&] { Listener("127.0.0.1", taken.port()); });
  testing::expect_nothing_left([] { Listener("192.0.2.1", 0); });
  testing::expect_nothing_left(
      [] { connect_within("127.0.0.1", 1, std::chrono::milliseconds(1), "rank 0"); });
}

TEST(FailingStarts, OfKeyFilesLeaveNothing) {
  const ScratchFolder scratch;
  const KeyFile file = KeyFile::of_rendezvous(scratch.path(), "127.0.0.1", 1);
  testing::expect_nothing_left_without_descriptors([&] { file.renew(); });
  const auto folder = scratch.path() / ".rendezvous";
  std::size_t items = 0;
  for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(folder)) ++items;
  EXPECT_EQ(items, 1U) << "the key alone, and nothing beside it";
}

TEST(FailingStarts, OfRanksLeaveNothing) {
  const ScratchFolder scratch;
  SignalPipe signals;
  testing::expect_nothing_left_without_descriptors([&] {
    LocalHost host(&signals, /*console=*/true, {});
    host.open_store("127.0.0.1");
    GroupStart start = script_start({0, 1}, "exit 0", scratch.path() / "logs");
    start.store_key = RunKey::draw();
    host.start(start);
  });
}

}  // namespace
}  // namespace larmor

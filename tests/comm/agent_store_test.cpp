#include "larmor/comm/agent_store.h"

#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "larmor/base/error.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// A rank of a launcher whose agent keeps the store at that port.
Rank rank_at(int port, int index) {
  Rank rank;
  rank.index = index;
  rank.count = 2;
  rank.local_index = index;
  rank.local_count = 2;
  rank.master_port = port;
  rank.agent_hosts_store = true;
  rank.launcher = "torchrun";
  return rank;
}

c10::intrusive_ptr<c10d::TCPStore> client_of(int port) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.timeout = milliseconds(5000);
  options.waitWorkers = false;
  return c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
}

TEST(HostedStore, IsFoundByWhoeverSpeaksC10d) {
  const HostedStore store("127.0.0.1");
  const auto writes = client_of(store.port()), reads = client_of(store.port());
  writes->set("key", std::vector<uint8_t>{'o', 'k'});
  EXPECT_EQ(reads->get("key"), (std::vector<uint8_t>{'o', 'k'}));
}

TEST(HostedStore, ListensAtItsAddressAlone) {
  const HostedStore store("127.0.0.1");
  std::string reason;
  EXPECT_TRUE(try_to_connect("127.0.0.1", store.port(), milliseconds(1000), reason).is_open());
  EXPECT_FALSE(try_to_connect("127.0.0.2", store.port(), milliseconds(1000), reason).is_open());
}

TEST(HostedStore, ListensNoLongerThanItLives) {
  auto store = std::make_unique<HostedStore>("127.0.0.1");
  const int port = store->port();
  store.reset();
  std::string reason;
  EXPECT_FALSE(try_to_connect("127.0.0.1", port, milliseconds(1000), reason).is_open());
}

TEST(HostedStore, RefusesAnAddressThatIsNotThisHosts) { EXPECT_THROW(HostedStore("192.0.2.1"), Error); }

TEST(AgentStore, CarriesWordsFromOneAgentToAnother) {
  const HostedStore hosted("127.0.0.1");
  auto heard = std::async(std::launch::async, [&] {
    const AgentStore second(rank_at(hosted.port(), 1), milliseconds(5000));
    return second.get("larmor/leader_port/0");
  });
  std::this_thread::sleep_for(milliseconds(100));
  AgentStore first(rank_at(hosted.port(), 0), milliseconds(5000));
  EXPECT_EQ(first.local_address(), "127.0.0.1");
  first.set("larmor/leader_port/0", "127.0.0.1 4711");
  EXPECT_EQ(heard.get(), "127.0.0.1 4711");
}

TEST(AgentStore, SaysThatRankZeroNeverSaidAnything) {
  const HostedStore hosted("127.0.0.1");
  const AgentStore second(rank_at(hosted.port(), 1), milliseconds(300));
  try {
    second.get("larmor/leader_port/0");
    FAIL() << "nobody set it";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("rank 1 waited "));
    EXPECT_THAT(error.message(), HasSubstr("for rank 0 to say where it is"));
  }
}

TEST(AgentStore, SaysThatTheStoreIsGone) {
  auto hosted = std::make_unique<HostedStore>("127.0.0.1");
  AgentStore first(rank_at(hosted->port(), 0), milliseconds(1000));
  hosted.reset();
  try {
    for (int i = 0; i < 100; ++i) first.set("key", "value");
    FAIL() << "nobody keeps it";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("the launcher's store was lost"));
  }
}

}  // namespace
}  // namespace larmor

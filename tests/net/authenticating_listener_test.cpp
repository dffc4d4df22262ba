#include "larmor/net/authenticating_listener.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <cerrno>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/net/channel.h"
#include "larmor/net/socket.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using std::chrono::steady_clock;

/// A listener that the test serves itself.
class AuthenticatingListeners : public ::testing::Test {
 protected:
  Descriptor connect_to_it(const char* address = "127.0.0.1") const {
    std::string reason;
    auto socket = try_to_connect(address, listener_.port(), milliseconds(2000), reason);
    EXPECT_TRUE(socket.is_open()) << reason;
    return socket;
  }
  static void say(const Descriptor& socket, const std::string& words) {
    ::send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL);
  }
  /// Nothing while it is open and silent.
  static std::optional<std::string> heard_until_hung_up(const Descriptor& socket) {
    char buffer[256];
    const auto got = recv(socket.number(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return std::nullopt;
    return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
  }
  std::future<AuthenticatedPeer> pass(Descriptor socket, const RunKey& key = test_key()) const {
    return std::async(std::launch::async, [socket = std::move(socket), key]() mutable {
      std::string reason;
      return authenticate(std::move(socket), key, "test", milliseconds(5000), reason);
    });
  }
  /// Serves until so many have come in.
  std::vector<AuthenticatedPeer> let_in(size_t count) {
    std::vector<AuthenticatedPeer> peers;
    EXPECT_TRUE(happens([&] {
      for (auto& peer : door_.serve()) peers.push_back(std::move(peer));
      return peers.size() >= count;
    }));
    return peers;
  }
  AuthenticatingListener& listener() { return door_; }
  const Listener& listener() const { return listener_; }

 private:
  Listener listener_{"127.0.0.1", 0};
  AuthenticatingListener door_{listener_.descriptor(), test_key(), "test"};
};

TEST_F(AuthenticatingListeners, AcceptAPeerThatKnowsTheKey) {
  auto member = pass(connect_to_it());
  auto peers = let_in(1);
  ASSERT_EQ(peers.size(), 1U);
  Channel here(std::move(peers[0])), there(member.get());
  here.send({{"from", "leader"}});
  there.send({{"from", "member"}});
  EXPECT_EQ(there.receive_within(milliseconds(2000)).value("from", ""), "leader");
  EXPECT_EQ(here.receive_within(milliseconds(2000)).value("from", ""), "member");
}

TEST_F(AuthenticatingListeners, CloseOnRubbishWithoutAnAnswer) {
  for (const std::string& words :
       {std::string(32, 'x'), std::string("GET / HTTP/1.1\r\nHost: master\r\n\r\n"),
        std::string(1 << 16, '\0'), std::string("{\"hello\": {\"larmor\": 2}}\n    ")}) {
    const auto peer = connect_to_it();
    say(peer, words);
    std::optional<std::string> heard;
    EXPECT_TRUE(happens([&] {
      EXPECT_TRUE(listener().serve().empty());
      heard = heard_until_hung_up(peer);
      return heard.has_value();
    }));
    EXPECT_EQ(heard, "");
  }
  EXPECT_EQ(listener().unproven(), 0U);
}

TEST_F(AuthenticatingListeners, CloseOnASilentPeerAfterTwoSeconds) {
  const auto silent = connect_to_it(), slow = connect_to_it();
  const auto start = steady_clock::now();
  EXPECT_TRUE(happens([&] {
    say(slow, "x");
    EXPECT_TRUE(listener().serve().empty());
    return heard_until_hung_up(silent).has_value();
  }));
  EXPECT_GT(steady_clock::now() - start, milliseconds(1900));
  EXPECT_LT(steady_clock::now() - start, milliseconds(4000));
  EXPECT_TRUE(happens([&] {
    listener().serve();
    return listener().unproven() == 0;
  }));
}

TEST_F(AuthenticatingListeners, MakeRoomForAnAgentAmongManyPeers) {
  // Whoever has begun rightly stays, however many come.
  Handshake first(Handshake::Side::member, test_key(), "test");
  const auto begun = connect_to_it();
  say(begun, first.take_outgoing());
  std::vector<Descriptor> many;
  std::vector<AuthenticatedPeer> peers;
  const auto serve = [&] {
    for (auto& peer : listener().serve()) peers.push_back(std::move(peer));
  };
  for (size_t i = 0; i < 3 * AuthenticatingListener::most_unproven; ++i) {
    many.push_back(connect_to_it());
    if (i % 50 == 0) serve();
    EXPECT_LE(listener().unproven(), AuthenticatingListener::most_unproven + 1);
  }
  std::optional<std::string> answer;
  EXPECT_TRUE(happens([&] {
    serve();
    answer = heard_until_hung_up(begun);
    return answer.has_value();
  }));
  ASSERT_EQ(answer->size(), first.wanted());
  first.receive(*answer);
  say(begun, first.take_outgoing());
  auto second = pass(connect_to_it());
  EXPECT_TRUE(happens([&] {
    serve();
    return peers.size() == 2;
  }));
  EXPECT_TRUE(second.get().socket.is_open());
}

TEST_F(AuthenticatingListeners, CloseOnARecordedFirstMessage) {
  Handshake recorded(Handshake::Side::member, test_key(), "test");
  const auto greeting = recorded.take_outgoing();
  const auto first = connect_to_it(), again = connect_to_it();
  say(first, greeting);
  std::optional<std::string> heard;
  EXPECT_TRUE(happens([&] {
    listener().serve();
    heard = heard_until_hung_up(first);
    return heard.has_value();
  }));
  EXPECT_EQ(heard->size(), 48U);
  say(again, greeting);
  EXPECT_TRUE(happens([&] {
    listener().serve();
    heard = heard_until_hung_up(again);
    return heard.has_value();
  }));
  EXPECT_EQ(heard, "");
}

TEST_F(AuthenticatingListeners, OutliveALackOfDescriptors) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  std::vector<Descriptor> many;
  for (int i = 0; i < 20; ++i) many.push_back(connect_to_it());
  auto agent = connect_to_it();
  const Descriptor probe(dup(0));
  const rlimit few{.rlim_cur = static_cast<rlim_t>(probe.number()), .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(listener().serve().empty());
  std::vector<pollfd> watched;
  listener().watch(watched);
  EXPECT_TRUE(watched.empty()) << "nobody spins on a socket that cannot be accepted";
  setrlimit(RLIMIT_NOFILE, &before);
  auto member = pass(std::move(agent));
  EXPECT_EQ(let_in(1).size(), 1U);
  EXPECT_TRUE(member.get().socket.is_open());
}

TEST_F(AuthenticatingListeners, RefuseAnotherKey) {
  std::string reason;
  auto refused = std::async(std::launch::async, [&] {
    return authenticate(connect_to_it(), RunKey::draw(), "test", milliseconds(5000), reason);
  });
  EXPECT_TRUE(happens([&] {
    EXPECT_TRUE(listener().serve().empty());
    return refused.wait_for(milliseconds(0)) == std::future_status::ready;
  }));
  EXPECT_FALSE(refused.get().socket.is_open());
  EXPECT_EQ(reason, "who listens there hung up: it may have another key");
}

TEST_F(AuthenticatingListeners, AreGivenUpWhenNobodyAnswers) {
  std::string reason;
  const auto start = steady_clock::now();
  EXPECT_FALSE(authenticate(connect_to_it(), test_key(), "test", milliseconds(100), reason).socket.is_open());
  EXPECT_LT(steady_clock::now() - start, milliseconds(1500));
  EXPECT_EQ(reason, "who listens there says nothing");
}

}  // namespace
}  // namespace larmor

// The member's side of gathering.h, where it meets somebody else than its leader, or nobody.
#include <sys/socket.h>

#include <future>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/launch/gathering.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A port where somebody listens who does not know the run's key.
class JoinLeader : public ::testing::Test {
 protected:
  /// What an agent says after it got that answer.
  std::string after(const std::string& answer, bool hangs_up) {
    Listener listener("127.0.0.1", 0);
    AgentPlace place;
    place.agent = 1;
    place.agents = 2;
    place.master_port = listener.port();
    place.start_limit = milliseconds(400);
    auto joined = std::async(std::launch::async, [place] { join_leader(place, hello_of(1, 2), test_key); });
    std::vector<Descriptor> agents;  // it comes again and again
    EXPECT_TRUE(happens([&] {
      if (auto agent = listener.accept(); agent.is_open()) {
        if (!answer.empty()) ::send(agent.number(), answer.data(), answer.size(), MSG_NOSIGNAL);
        if (!hangs_up) agents.push_back(std::move(agent));
      }
      return joined.wait_for(milliseconds(0)) == std::future_status::ready;
    }));
    return words_of([&] { joined.get(); });
  }
};

TEST_F(JoinLeader, TellsALeaderFromAnotherProgram) {
  const auto reached = AllOf(StartsWith("4: agent 1 on node-1 reached 127.0.0.1:"),
                             HasSubstr("but no leader of a larmor run answers there"));
  for (const char* const answer :
       {"", "HTTP/1.1 400 Bad Request\r\n\r\n", "{\"refused\": 5}\n", "{\"jsonrpc\": \"2.0\"}\n"}) {
    EXPECT_THAT(after(answer, /*hangs_up=*/false), reached) << answer;
  }
  EXPECT_THAT(after("", /*hangs_up=*/true), reached);
}

TEST_F(JoinLeader, BelievesNobodyWhoOnlySaysThatHeLeads) {
  const auto reached = HasSubstr("but no leader of a larmor run answers there");
  EXPECT_THAT(after("{\"welcome\": true}\n", false), reached);
  EXPECT_THAT(after("{\"refused\": \"no room\"}\n", true), reached);
  // The length of an answer, from one who does not know the key.
  EXPECT_THAT(after(std::string(48, 'k'), false),
              AllOf(StartsWith("4: "), reached, HasSubstr("does not know the key of this run")));
}

TEST_F(JoinLeader, SaysWhyThereIsNoKey) {
  const Listener listener("127.0.0.1", 0);
  AgentPlace place;
  place.agent = 1;
  place.agents = 2;
  place.master_port = listener.port();
  place.start_limit = milliseconds(300);
  const auto none = []() -> RunKey { fail(Exit::environment, "the key of the run cannot be read"); };
  EXPECT_THAT(
      words_of([&] { join_leader(place, hello_of(1, 2), none); }),
      AllOf(StartsWith("4: agent 1 on node-1 reached "), HasSubstr("the key of the run cannot be read")));
}

TEST_F(JoinLeader, SaysThatNobodyIsThere) {
  AgentPlace place;
  place.agent = 1;
  place.agents = 2;
  place.master_port = Listener("127.0.0.1", 0).port();
  place.start_limit = milliseconds(200);
  EXPECT_THAT(words_of([&] { join_leader(place, hello_of(1, 2), test_key); }),
              StartsWith("4: agent 1 on node-1 could not reach the master at 127.0.0.1:"));
}

}  // namespace
}  // namespace larmor

#include "larmor/launch/gathering.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/net/authenticating_listener.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A leader that listens in a thread of its own, and agents that connect to it.
class Gathering : public ::testing::Test {
 protected:
  /// Listens for so many agents, the leader included.
  void wait_for(int agents, milliseconds limit = milliseconds(10'000)) {
    place_.agents = agents;
    place_.start_limit = limit;
    place_.master_port = door_.port();
    gathered_ = std::async(std::launch::async,
                           [this] { return gather(place_, door_, hello_of(0, place_.agents), test_key()); });
  }
  std::future<Channel> join(Hello hello) {
    AgentPlace place = place_;
    place.agent = hello.agent;
    return std::async(std::launch::async,
                      [place, hello] { return join_leader(place, hello, test_key).leader; });
  }
  std::future<Channel> join(int agent) { return join(hello_of(agent, place_.agents)); }
  /// Somebody who is no agent.
  Descriptor connect_to_leader() const {
    std::string reason;
    return try_to_connect("127.0.0.1", door_.port(), milliseconds(1000), reason);
  }
  /// Somebody who knows the key, and may say anything.
  Channel knock_with_the_key() const {
    std::string reason;
    auto peer = authenticate(connect_to_leader(), test_key(), "gathering", milliseconds(2000), reason);
    EXPECT_TRUE(peer.socket.is_open()) << reason;
    return Channel(std::move(peer));
  }
  std::vector<Member> members() { return gathered_.get(); }
  /// Why the leader did not get all of them.
  std::string leaders_words() {
    return words_of([this] { members(); });
  }
  const Listener& listener() const { return door_; }
  AgentPlace& place() { return place_; }

 private:
  Listener door_{"127.0.0.1", 0};
  AgentPlace place_;
  std::future<std::vector<Member>> gathered_;
};

TEST_F(Gathering, LetsAllAgentsInInWhateverOrderTheyCome) {
  wait_for(4);
  std::vector<Channel> inside;
  for (const int agent : {3, 1, 2}) inside.push_back(join(agent).get());
  const auto all = members();
  ASSERT_EQ(all.size(), 3U);
  for (int agent = 1; agent <= 3; ++agent) {
    const Member& member = all[static_cast<size_t>(agent - 1)];
    EXPECT_EQ(member.hello.agent, agent);
    EXPECT_EQ(member.hello.host, text("node-", agent));
    EXPECT_EQ(member.host->name(), text("node-", agent));
    EXPECT_FALSE(member.host->is_lost());
  }
}

TEST_F(Gathering, LetsAnAgentInThatComesBeforeTheLeader) {
  place().agents = 2;
  place().master_port = listener().port();
  auto early = join(hello_of(1, 2));
  std::this_thread::sleep_for(milliseconds(50));
  wait_for(2);
  const Channel inside = early.get();
  EXPECT_FALSE(inside.is_closed());
  EXPECT_EQ(members().size(), 1U);
}

TEST_F(Gathering, NeedsNobodyWhenItIsAlone) {
  wait_for(1);
  EXPECT_TRUE(members().empty());
}

TEST_F(Gathering, IsHeldUpByNoStranger) {
  wait_for(2);
  const Descriptor silent = connect_to_leader(), browser = connect_to_leader(), shouter = connect_to_leader();
  const std::string request = "GET / HTTP/1.1\r\nHost: master\r\n\r\n", rubbish(100'000, 'x');
  ASSERT_GT(::send(browser.number(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  ASSERT_GT(::send(shouter.number(), rubbish.data(), rubbish.size(), MSG_NOSIGNAL | MSG_DONTWAIT), 0);
  Channel other = knock_with_the_key();
  other.send({{"beat", true}});
  EXPECT_TRUE(other.receive_within(milliseconds(3000)).is_null());
  EXPECT_TRUE(other.is_closed());
  const auto start = steady_clock::now();
  const Channel agent = join(1).get();
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_EQ(members().size(), 1U);
}

TEST_F(Gathering, TellsAnAgentWhoseGreetingItDoesNotUnderstand) {
  wait_for(2);
  const Json greetings[] = {{{"larmor", 99}}, "hello", {{"larmor", 1}, {"agent", "one"}}};
  for (const Json& greeting : greetings) {
    Channel odd = knock_with_the_key();
    odd.send({{"hello", greeting}});
    const Json answer = odd.receive_within(milliseconds(2000));
    EXPECT_THAT(answer.value("refused", ""), StartsWith("its greeting is not understood: ")) << greeting;
  }
  const Channel agent = join(1).get();
  EXPECT_EQ(members().size(), 1U);
}

TEST_F(Gathering, TellsBothSidesWhichWordDiffers) {
  wait_for(3);
  const Channel right = join(1).get();
  Hello wrong = hello_of(2, 3);
  wrong.words["train.epochs"] = "20";
  auto refused = join(wrong);
  const std::string expected =
      "2: agent 2 on node-2 was given another configuration: train.epochs is \"20\" there and \"10\" for "
      "agent 0 on node-0";
  EXPECT_EQ(words_of([&] { refused.get(); }), expected);
  EXPECT_EQ(leaders_words(), expected);
}

TEST_F(Gathering, SendsThoseInsideAwayWhenOneDisagrees) {
  wait_for(3);
  Channel right = join(1).get();
  Hello wrong = hello_of(2, 3);
  wrong.words.erase("data.root");
  wrong.words["data.rot"] = "images";
  auto refused = join(wrong);
  EXPECT_THAT(leaders_words(), HasSubstr("data.root is null there and \"images\" for agent 0"));
  EXPECT_TRUE(happens([&] {
    const Json message = right.receive_within(milliseconds(100));
    if (!message.contains("over")) return right.is_closed();
    EXPECT_EQ(message.at("over").value("status", 0), 2);
    return true;
  }));
  EXPECT_NE(words_of([&] { refused.get(); }), "fine");
}

TEST_F(Gathering, TellsOfAnotherBuild) {
  wait_for(2);
  Hello other = hello_of(1, 2);
  other.build = "2.0";
  auto refused = join(other);
  const std::string expected = "2: agent 1 on node-1 is another build of larmor (2.0) than agent 0 (1.0)";
  EXPECT_EQ(words_of([&] { refused.get(); }), expected);
  EXPECT_EQ(leaders_words(), expected);
}

TEST_F(Gathering, TellsOfAnAgentTooMany) {
  wait_for(2);
  auto refused = join(hello_of(2, 2));
  EXPECT_EQ(words_of([&] { refused.get(); }),
            "2: agent 2 on node-2 has a number that there is not: they go from 0 to 1");
  EXPECT_THAT(leaders_words(), HasSubstr("a number that there is not"));
}

TEST_F(Gathering, TellsOfAnotherCountOfAgents) {
  wait_for(2);
  auto refused = join(hello_of(1, 3));
  EXPECT_EQ(words_of([&] { refused.get(); }), "2: agent 1 on node-1 counts 3 agents, agent 0 on node-0 2");
  EXPECT_THAT(leaders_words(), HasSubstr("counts 3 agents"));
}

TEST_F(Gathering, RefusesTheSecondOfTwoWithOneNumberAndWaitsOn) {
  wait_for(3);
  const Channel first = join(1).get();
  Hello twin = hello_of(1, 3);
  twin.host = "node-9";
  auto refused = join(twin);
  EXPECT_EQ(words_of([&] { refused.get(); }),
            "2: agent 1 is there already, on node-1: two were started with one number");
  const Channel last = join(2).get();
  EXPECT_EQ(members().size(), 2U);
}

TEST_F(Gathering, LetsAnAgentComeAgainThatWasEndedMeanwhile) {
  wait_for(3);
  join(1).get().close("ended by hand");
  std::optional<Channel> again;
  EXPECT_TRUE(happens([&] { return words_of([&] { again = join(1).get(); }) == "fine"; }));
  const Channel last = join(2).get();
  const auto all = members();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(all[0].host->is_lost());
}

TEST_F(Gathering, NamesThoseThatNeverCame) {
  const auto start = steady_clock::now();
  wait_for(4, milliseconds(1000));
  Channel came = join(2).get();
  const std::string words = leaders_words();
  EXPECT_TRUE(happens([&] {
    const Json message = came.receive_within(milliseconds(100));
    return message.contains("over") && message.at("over").value("status", 0) == 4;
  })) << "who waited inside is told as well";
  EXPECT_LT(steady_clock::now() - start, milliseconds(5000));
  EXPECT_THAT(words, AllOf(StartsWith("4: waited "), HasSubstr(text("127.0.0.1:", listener().port())),
                           HasSubstr("for agents 1, 3 of 4, which never came")));
}

TEST_F(Gathering, OnlyMentionsAClockThatIsAnHourAhead) {
  Hello ahead = hello_of(1, 2);
  ahead.wall_seconds += 3600;
  ::testing::internal::CaptureStderr();
  wait_for(2);
  const Channel inside = join(ahead).get();
  EXPECT_EQ(members().size(), 1U);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("the clock of node-1 is "), HasSubstr(" ahead of that of node-0")));
}

TEST_F(Gathering, BeatsForThoseThatWait) {
  wait_for(3, milliseconds(3000));
  Channel waiting = join(1).get();
  EXPECT_TRUE(waiting.receive_within(milliseconds(2000)).contains("beat"));
  const Channel last = join(2).get();
  EXPECT_EQ(members().size(), 2U);
}

/// All that comes until the other side hangs up.
std::string answer_to(const Descriptor& socket, const std::string& words) {
  ::send(socket.number(), words.data(), words.size(), MSG_NOSIGNAL);
  std::string all;
  EXPECT_TRUE(happens([&] {
    char buffer[4096];
    const auto got = recv(socket.number(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0) all.append(buffer, static_cast<size_t>(got));
    return got == 0 || (got < 0 && errno == ECONNRESET);
  })) << "nobody hung up";
  return all;
}

TEST_F(Gathering, IsNeitherEndedNorQuestionedByAStranger) {
  wait_for(2);
  for (Hello wrong : {hello_of(1, 3), hello_of(1, 2), hello_of(9, 2)}) {
    wrong.words["train.epochs"] = "20";
    Json message;
    message["hello"] = to_json(wrong);
    EXPECT_EQ(answer_to(connect_to_leader(), message.dump() + "\n"), "");
  }
  const Channel agent = join(1).get();
  EXPECT_EQ(members().size(), 1U);
}

TEST_F(Gathering, LetsAllAgentsInThroughACrowdThatNeverEnds) {
  wait_for(5);
  std::atomic<bool> is_over = false;
  std::thread crowd([&] {
    std::vector<Descriptor> open;
    for (size_t i = 0; !is_over; ++i) {
      std::string reason;
      auto peer = try_to_connect("127.0.0.1", listener().port(), milliseconds(100), reason);
      const std::string words(i % 70, 'x');
      if (peer.is_open()) ::send(peer.number(), words.data(), words.size(), MSG_NOSIGNAL);
      open.push_back(std::move(peer));
      if (open.size() > 300) open.erase(open.begin(), open.begin() + 150);
    }
  });
  std::vector<Channel> inside;
  for (const int agent : {4, 2, 1, 3}) inside.push_back(join(agent).get());
  EXPECT_EQ(members().size(), 4U);
  is_over = true;
  crowd.join();
}

TEST_F(Gathering, HearsNobodyWithAnotherKey) {
  wait_for(2);
  std::string reason;
  for (const char* purpose : {"gathering", "store"}) {
    const auto key = std::string(purpose) == "store" ? test_key() : RunKey::draw();
    const auto peer = authenticate(connect_to_leader(), key, purpose, milliseconds(3000), reason);
    EXPECT_FALSE(peer.socket.is_open());
    EXPECT_THAT(reason, HasSubstr("it may have another key"));
  }
  const Channel agent = join(1).get();
  EXPECT_EQ(members().size(), 1U);
}

TEST_F(Gathering, LetsAnAgentInThatFindsTheRightKeyLate) {
  wait_for(2);
  AgentPlace own = place();
  own.agent = 1;
  int looks = 0;
  const auto find_key = [&] {
    if (++looks == 1) fail(Exit::environment, "there is no key yet");
    return looks < 4 ? RunKey::draw() : test_key();  // of an earlier start, as long as the folder shows it
  };
  const auto joined = join_leader(own, hello_of(1, 2), find_key);
  EXPECT_EQ(looks, 4);
  EXPECT_EQ(joined.key, test_key());
  EXPECT_EQ(members().size(), 1U);
}

TEST(Disagreement, SpeaksOfRanksWhereEachAgentHasTheirPlace) {
  Hello own = hello_of(0, 4), other = hello_of(2, 3);
  own.local_index = other.local_index = 0;
  EXPECT_EQ(disagreement(own, other), "rank 2 on node-2 counts 3 ranks, rank 0 on node-0 4");
  other.agents = 4;
  EXPECT_EQ(disagreement(own, other), "");
  other.words["train.epochs"] = "11";
  EXPECT_THAT(disagreement(own, other),
              HasSubstr("train.epochs is \"11\" there and \"10\" for rank 0 on node-0"));
}

TEST(Hello, ReadsBackWhatItWrote) {
  Hello hello = hello_of(3, 8);
  hello.local_index = 1;
  hello.hardware = {{"cores", {0, 1}}};
  const Json json = to_json(hello);
  EXPECT_EQ(to_json(hello_from_json(Json::parse(json.dump()))), json);
  for (const auto& item : json.items()) {
    Json less = json;
    less.erase(item.key());
    EXPECT_ANY_THROW(hello_from_json(less)) << item.key();
  }
}

}  // namespace
}  // namespace larmor

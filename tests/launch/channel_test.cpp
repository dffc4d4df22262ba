#include "larmor/launch/channel.h"

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/launch/support/agents.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* foreign = "it sent something that is no message of larmor";

/// A channel here, and the bare end of a peer.
class Channels : public testing::Test {
 protected:
  void say(const std::string& words) {
    ASSERT_EQ(::send(peer_.number(), words.data(), words.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(words.size()));
  }
  void hang_up() { peer_ = Descriptor(); }
  Channel& channel() { return channel_; }
  int peer() const { return peer_.number(); }

 private:
  Ends ends_ = connect_ends();
  Descriptor peer_ = std::move(ends_.there);
  Channel channel_{std::move(ends_.here)};
};

TEST_F(Channels, CarryMessagesInTheirOrder) {
  Channel other{Descriptor(dup(peer()))};
  for (int number = 0; number < 100; ++number) other.send({{"number", number}});
  const auto messages = channel().receive();
  ASSERT_EQ(messages.size(), 100U);
  for (int number = 0; number < 100; ++number)
    EXPECT_EQ(messages[static_cast<size_t>(number)], Json({{"number", number}}));
  EXPECT_TRUE(channel().receive().empty());
}

TEST_F(Channels, JoinWhatCameInPieces) {
  std::vector<Json> messages;
  for (const char byte : std::string("{\"a\": [1, 2]}\n{\"b\"")) {
    EXPECT_TRUE(messages.empty());
    say(std::string(1, byte));
    messages = channel().receive();
    if (byte != '\n') continue;
    EXPECT_EQ(std::exchange(messages, {}), (std::vector<Json>{{{"a", {1, 2}}}}));
  }
  say(": 2}\n");
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"b", 2}}}));
  EXPECT_FALSE(channel().is_closed());
}

TEST_F(Channels, KeepTextThatIsNoUtf8AndLongMessages) {
  const std::string lines(300'000, 'x');
  Channel other{Descriptor(dup(peer()))};
  std::thread sends([&] {
    other.send({{"lines", lines}, {"name", "torn \xff letter"}});
    other.flush(milliseconds(5000));
  });
  const Json message = channel().receive_within(milliseconds(5000));
  sends.join();
  EXPECT_EQ(message.value("lines", ""), lines);
  EXPECT_THAT(message.value("name", ""), StartsWith("torn "));
}

TEST_F(Channels, EndAtWhatIsNoMessage) {
  for (const char* const words : {"GET / HTTP/1.1\n", "12\n", "[1]\n", "null\n", "{\"a\": \n", "\n",
                                  "{\"a\": 1}{\"b\": 2}\n", "\x16\x03\x01\x02\n"}) {
    auto [here, there] = connect_ends();
    Channel channel(std::move(here));
    ASSERT_GT(::send(there.number(), words, std::strlen(words), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(channel.receive().empty());
    EXPECT_TRUE(channel.is_closed()) << words;
    EXPECT_EQ(channel.why_closed(), foreign);
  }
}

TEST_F(Channels, EndAtNestingThatWouldTakeTheWholeStack) {
  say(text("{\"a\": ", std::string(100'000, '['), "\n"));
  EXPECT_TRUE(channel().receive().empty());
  EXPECT_EQ(channel().why_closed(), foreign);
}

TEST_F(Channels, GiveWhatCameBeforeTheRubbish) {
  say("{\"a\": 1}\nrubbish\n");
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"a", 1}}}));
  EXPECT_TRUE(channel().is_closed());
}

TEST_F(Channels, EndALineThatNeverEnds) {
  std::thread talks([this] {
    const std::string block(1 << 16, 'x');
    while (::send(peer(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  size_t rounds = 0;
  EXPECT_TRUE(happens([&] {
    ++rounds;
    EXPECT_TRUE(channel().receive().empty());
    return channel().is_closed();
  }));
  talks.join();
  EXPECT_EQ(channel().why_closed(), foreign);
}

TEST_F(Channels, ReturnFromAPeerThatNeverStopsTalking) {
  std::atomic<bool> enough = false;
  std::thread talks([&] {
    std::string block;
    for (int i = 0; i < 1000; ++i) block += "{\"a\": 1}\n";
    while (!enough && ::send(peer(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  const auto start = steady_clock::now();
  EXPECT_TRUE(happens([&] { return !channel().receive().empty(); }));
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(5));
  enough = true;
  channel().close("enough");
  talks.join();
}

TEST_F(Channels, NoticeThatThePeerIsGone) {
  say("{\"a\": 1}\n{\"b\":");
  hang_up();
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"a", 1}}}));
  EXPECT_EQ(channel().why_closed(), "the connection was closed");
  EXPECT_TRUE(channel().receive().empty());
  channel().send({{"c", 1}});
  channel().flush(milliseconds(100));
}

TEST_F(Channels, HearTheLastWordsOfAPeerThatHangsUpOnThem) {
  channel().send({{"not", "read"}});
  say("{\"over\": true}\n");
  hang_up();
  channel().send({{"one", "more"}});
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"over", true}}}));
  EXPECT_TRUE(channel().is_closed());
}

TEST_F(Channels, NeverBlockOnAPeerThatReadsNothing) {
  const Json message = {{"text", std::string(100'000, 'x')}};
  const auto start = steady_clock::now();
  int sent = 0;
  for (; sent < 100 && !channel().is_closed(); ++sent) channel().send(message);
  EXPECT_LT(steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_GT(sent, 10);
  EXPECT_EQ(channel().why_closed(), "it takes no messages any more");
}

TEST_F(Channels, SendTheRestWhenThePeerReadsAgain) {
  Channel other{Descriptor(dup(peer()))};
  for (int number = 0; number < 9; ++number)
    channel().send({{"number", number}, {"text", std::string(100'000, 'x')}});
  for (int number = 0; number < 9; ++number) {
    Json message;
    EXPECT_TRUE(happens([&] {
      channel().receive();
      message = other.receive_within(milliseconds(1));
      return !message.is_null();
    }));
    EXPECT_EQ(message.value("number", -1), number);
  }
}

TEST_F(Channels, WaitNoLongerThanTheyAreTold) {
  const auto start = steady_clock::now();
  EXPECT_TRUE(channel().receive_within(milliseconds(120)).is_null());
  const auto passed = steady_clock::now() - start;
  EXPECT_GE(passed, milliseconds(120));
  EXPECT_LT(passed, milliseconds(1000));
  say("{\"a\": 1}\n{\"b\": 2}\n");
  EXPECT_EQ(channel().receive_within(milliseconds(0)), Json({{"a", 1}}));
  hang_up();
  EXPECT_EQ(channel().receive_within(milliseconds(5000)), Json({{"b", 2}}));
  EXPECT_TRUE(channel().receive_within(milliseconds(5000)).is_null());
  EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
}

}  // namespace
}  // namespace larmor

#include "larmor/net/channel.h"

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
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* foreign = "it sent something that is no message of larmor";

/// A channel here, and a peer that knows its keys: it can say anything, sealed or not.
class Channels : public ::testing::Test {
 protected:
  std::string sealed(const std::string& words) { return writer_.seal(words); }
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
  Channel channel_ = leaders_end(std::move(ends_.here));
  FrameWriter writer_{test_keys(Handshake::Side::member).send};
};

TEST_F(Channels, CarryMessagesInTheirOrder) {
  Channel other = members_end(Descriptor(dup(peer())));
  for (int number = 0; number < 100; ++number) other.send({{"number", number}});
  const auto messages = channel().receive();
  ASSERT_EQ(messages.size(), 100U);
  for (int number = 0; number < 100; ++number)
    EXPECT_EQ(messages[static_cast<size_t>(number)], Json({{"number", number}}));
  EXPECT_TRUE(channel().receive().empty());
}

TEST_F(Channels, JoinWhatCameInPieces) {
  std::vector<Json> messages;
  const auto first = sealed("{\"a\": [1, 2]}"), second = sealed("{\"b\": 2}");
  const auto both = first + second.substr(0, 9);
  for (size_t i = 0; i < both.size(); ++i) {
    EXPECT_TRUE(messages.empty());
    say(both.substr(i, 1));
    messages = channel().receive();
    if (i + 1 != first.size()) continue;
    EXPECT_EQ(std::exchange(messages, {}), (std::vector<Json>{{{"a", {1, 2}}}}));
  }
  say(second.substr(9));
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"b", 2}}}));
  EXPECT_FALSE(channel().is_closed());
}

TEST_F(Channels, KeepTextThatIsNoUtf8AndLongMessages) {
  const std::string lines(300'000, 'x');
  Channel other = members_end(Descriptor(dup(peer())));
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
  for (const char* const words : {"GET / HTTP/1.1", "12", "[1]", "null", "{\"a\": ", "", "\n",
                                  "{\"a\": 1}{\"b\": 2}", "\x16\x03\x01\x02"}) {
    auto [here, there] = connect_ends();
    Channel channel = leaders_end(std::move(here));
    const auto frame = FrameWriter(test_keys(Handshake::Side::member).send).seal(words);
    ASSERT_GT(::send(there.number(), frame.data(), frame.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(channel.receive().empty());
    EXPECT_TRUE(channel.is_closed()) << words;
    EXPECT_EQ(channel.why_closed(), foreign);
  }
}

TEST_F(Channels, EndAtAMessageThatNobodyHasSealed) {
  for (const std::string& words : {std::string("{\"over\": true}\n"), std::string("GET / HTTP/1.1\r\n\r\n"),
                                   FrameWriter(test_keys(Handshake::Side::leader).send).seal("{\"a\": 1}")}) {
    auto [here, there] = connect_ends();
    Channel channel = leaders_end(std::move(here));
    const auto long_enough = words + std::string(100, ' ');
    ASSERT_GT(::send(there.number(), long_enough.data(), long_enough.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(channel.receive().empty());
    EXPECT_EQ(channel.why_closed(), foreign) << words;
  }
}

TEST_F(Channels, EndAtNestingThatWouldTakeTheWholeStack) {
  say(sealed(text("{\"a\": ", std::string(100'000, '['))));
  EXPECT_TRUE(channel().receive().empty());
  EXPECT_EQ(channel().why_closed(), foreign);
}

TEST_F(Channels, GiveWhatCameBeforeTheRubbish) {
  say(sealed("{\"a\": 1}") + "rubbish" + std::string(100, ' '));
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"a", 1}}}));
  EXPECT_TRUE(channel().is_closed());
}

TEST_F(Channels, EndAMessageThatNeverEnds) {
  std::thread talks([this] {
    const std::string block(1 << 16, '\0');  // empty messages whose codes are wrong
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
    for (ssize_t sent = 1; !enough && sent > 0;) {
      std::string block;
      for (int i = 0; i < 1000; ++i) block += sealed("{\"a\": 1}");
      sent = ::send(peer(), block.data(), block.size(), MSG_NOSIGNAL);
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
  say(sealed("{\"a\": 1}"));
  say(sealed("{\"b\": 2}").substr(0, 9));
  hang_up();
  EXPECT_EQ(channel().receive(), (std::vector<Json>{{{"a", 1}}}));
  EXPECT_EQ(channel().why_closed(), "the connection was closed");
  EXPECT_TRUE(channel().receive().empty());
  channel().send({{"c", 1}});
  channel().flush(milliseconds(100));
}

TEST_F(Channels, HearTheLastWordsOfAPeerThatHangsUpOnThem) {
  channel().send({{"not", "read"}});
  say(sealed("{\"over\": true}"));
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
  Channel other = members_end(Descriptor(dup(peer())));
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
  say(sealed("{\"a\": 1}"));
  say(sealed("{\"b\": 2}"));
  EXPECT_EQ(channel().receive_within(milliseconds(0)), Json({{"a", 1}}));
  hang_up();
  EXPECT_EQ(channel().receive_within(milliseconds(5000)), Json({{"b", 2}}));
  EXPECT_TRUE(channel().receive_within(milliseconds(5000)).is_null());
  EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
}

}  // namespace
}  // namespace larmor

#include "larmor/comm/store_server.h"

#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/comm/keyed_store.h"
#include "larmor/net/authenticating_listener.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

TEST(StoreMessage, ReadsBackWhatItWrote) {
  const std::string binary("\0\xff", 2);
  const auto read = store_message_from(
      to_bytes({.number = 1ULL << 60, .operation = StoreOperation::wait, .fields = {"", "key", binary}}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number, 1ULL << 60);
  EXPECT_EQ(read->operation, StoreOperation::wait);
  EXPECT_THAT(read->fields, ElementsAre("", "key", binary));
}

TEST(StoreMessage, IsNotReadFromAnythingElse) {
  const auto whole = to_bytes({.number = 7, .operation = StoreOperation::set, .fields = {"key", "value"}});
  for (size_t length = 0; length < whole.size(); ++length) {
    // Cut between two fields it is a message of fewer.
    const bool is_whole_fields = length == 9 || length == 9 + 8 + 3;
    EXPECT_EQ(store_message_from(whole.substr(0, length)).has_value(), is_whole_fields) << length;
  }
  auto odd = whole;
  odd[8] = 99;
  EXPECT_FALSE(store_message_from(odd));
  odd = whole;
  odd[16] = '\x7f';  // a field of 2^63 bytes and more
  EXPECT_FALSE(store_message_from(odd));
}

TEST(StoreServer, HangsUpOnOneWhoKnowsTheKeyAndSpeaksNonsense) {
  const auto key = RunKey::draw();
  Listener listener("127.0.0.1", 0);
  const int port = listener.port();
  const StoreServer server(listener.take(), key);
  const std::vector<std::string> nonsense{
      "", "nonsense", to_bytes({.number = 1, .operation = StoreOperation::set, .fields = {"a key alone"}}),
      to_bytes({.number = 1, .operation = StoreOperation::get})};
  for (const auto& words : nonsense) {
    std::string reason;
    auto peer = authenticate(try_to_connect("127.0.0.1", port, milliseconds(1000), reason), key,
                             store_purpose, milliseconds(5000), reason);
    ASSERT_TRUE(peer.socket.is_open()) << reason;
    SealedStream stream(std::move(peer));
    stream.send(words);
    for (int i = 0; i < 100 && !stream.is_closed(); ++i) {
      stream.wait(milliseconds(50));
      EXPECT_TRUE(stream.receive().empty());
    }
    EXPECT_TRUE(stream.is_closed()) << words;
  }
  KeyedStore({"127.0.0.1", port, key}, milliseconds(5000), "rank 0").add("still", 1);
}

TEST(StoreServer, EndsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) StoreServer(Listener("127.0.0.1", 0).take(), RunKey::draw());
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(2000));
}

TEST(StoreServer, HangsUpWhereTheSystemCannotWait) {
  const auto key = RunKey::draw();
  Listener listener("127.0.0.1", 0);
  const int port = listener.port();
  const StoreServer server(listener.take(), key);
  std::string reason;
  auto peer = authenticate(try_to_connect("127.0.0.1", port, milliseconds(1000), reason), key, store_purpose,
                           milliseconds(5000), reason);
  ASSERT_TRUE(peer.socket.is_open()) << reason;
  SealedStream stream(std::move(peer));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The peer waits for one descriptor, the store for those of its peers and of its end.
  const rlimit few{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  stream.send(to_bytes({.number = 1, .operation = StoreOperation::count}));
  for (int i = 0; i < 100 && !stream.is_closed(); ++i) {
    stream.wait(milliseconds(50));
    stream.receive();
  }
  EXPECT_TRUE(stream.is_closed()) << "a rank would wait for its whole limit";
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace larmor

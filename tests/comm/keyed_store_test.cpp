#include "larmor/comm/keyed_store.h"

#include <sys/socket.h>

#include <future>
#include <thread>

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "larmor/base/error.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

Bytes bytes(const std::string& words) { return {words.begin(), words.end()}; }

/// A store on loopback, and clients of it.
class KeyedStores : public ::testing::Test {
 protected:
  c10::intrusive_ptr<KeyedStore> client(milliseconds limit = milliseconds(10'000)) const {
    return c10::make_intrusive<KeyedStore>(StoreLocation{"127.0.0.1", port_, key_}, limit, "rank 1");
  }
  Descriptor unproven_peer() const {
    std::string reason;
    return try_to_connect("127.0.0.1", port_, milliseconds(2000), reason);
  }
  int port() const { return port_; }
  void end() { server_.reset(); }

 private:
  RunKey key_ = RunKey::draw();
  int port_ = 0;
  Descriptor listen() {
    Listener listener("127.0.0.1", 0);
    port_ = listener.port();
    return listener.take();
  }
  std::unique_ptr<StoreServer> server_ = std::make_unique<StoreServer>(listen(), key_);
};

TEST_F(KeyedStores, DoWhatC10dAsksOfAStore) {
  const auto one = client(), other = client();
  const std::string binary("\0\xff\n", 3);
  one->set("key", bytes(binary));
  EXPECT_EQ(other->get("key"), bytes(binary));
  EXPECT_EQ(one->add("sum", 3), 3);
  EXPECT_EQ(other->add("sum", -5), -2);
  EXPECT_TRUE(other->check({"key", "sum"}));
  EXPECT_FALSE(other->check({"key", "none"}));
  EXPECT_EQ(other->getNumKeys(), 2);
  EXPECT_EQ(one->compareSet("mine", bytes(""), bytes("1")), bytes("1"));
  EXPECT_EQ(other->compareSet("mine", bytes(""), bytes("2")), bytes("1"));
  EXPECT_EQ(other->compareSet("mine", bytes("1"), bytes("2")), bytes("2"));
  one->append("list", bytes("a"));
  other->append("list", bytes("b"));
  EXPECT_THAT(one->multiGet({"list", "mine"}), ElementsAre(bytes("ab"), bytes("2")));
  one->multiSet({"x", "y"}, {bytes("1"), bytes("2")});
  EXPECT_EQ(other->get("y"), bytes("2"));
  EXPECT_TRUE(one->deleteKey("y"));
  EXPECT_FALSE(one->deleteKey("y"));
  EXPECT_TRUE(one->hasExtendedApi());
  EXPECT_EQ(one->clone()->get("x"), bytes("1"));
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("group", one);
  prefixed->set("key", bytes("other"));
  EXPECT_EQ(other->get("group/key"), bytes("other"));
}

TEST_F(KeyedStores, LetOneWaitForWhatAnotherSays) {
  const auto waits = client(), says = client();
  auto value = std::async(std::launch::async, [&] { return waits->get("late"); });
  auto all = std::async(std::launch::async, [this] { client()->wait({"late", "later"}); });
  std::this_thread::sleep_for(milliseconds(50));
  says->set("late", bytes("here"));
  EXPECT_EQ(value.get(), bytes("here"));
  EXPECT_EQ(all.wait_for(milliseconds(50)), std::future_status::timeout);
  says->set("later", bytes("too"));
  all.get();
}

TEST_F(KeyedStores, WaitNoLongerThanTheyAreToldAndStayOfUse) {
  const auto store = client();
  const auto start = steady_clock::now();
  EXPECT_THROW(store->wait({"never"}, milliseconds(100)), c10::DistStoreError);
  store->setTimeout(milliseconds(100));
  EXPECT_THROW(store->get("never"), c10::DistStoreError);
  EXPECT_LT(steady_clock::now() - start, milliseconds(3000));
  store->setTimeout(milliseconds(5000));
  store->set("never", bytes("after all"));  // answers the waits that were given up, which nobody hears
  EXPECT_EQ(store->get("never"), bytes("after all"));
  store->set("words", bytes("no number"));
  EXPECT_ANY_THROW(store->add("words", 1));
  EXPECT_TRUE(store->check({"words"}));
}

TEST_F(KeyedStores, CarryAValueOfAMebibyteAndManyClients) {
  std::vector<c10::intrusive_ptr<KeyedStore>> clients;
  for (int i = 0; i < 64; ++i) clients.push_back(client());
  const auto long_value = bytes(std::string(size_t{1} << 20, 'v'));
  clients.front()->set("long", long_value);
  EXPECT_EQ(clients.back()->get("long"), long_value);
}

TEST_F(KeyedStores, ServeNoStranger) {
  const auto store = client();
  store->set("larmor/0/0/came/1", bytes("node-b"));
  {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(port());
    options.timeout = milliseconds(1000);
    options.waitWorkers = false;
    EXPECT_ANY_THROW({
      auto torchs = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
      torchs->set("larmor/0/0/came/1", bytes("elsewhere"));
    });
  }
  EXPECT_THROW(c10::make_intrusive<KeyedStore>(StoreLocation{"127.0.0.1", port(), RunKey::draw()},
                                               milliseconds(300), "rank 1"),
               Error);
  EXPECT_EQ(store->get("larmor/0/0/came/1"), bytes("node-b"));
  EXPECT_EQ(store->getNumKeys(), 1);
}

TEST_F(KeyedStores, AreNotHeldUpByACrowd) {
  const auto store = client();
  std::vector<Descriptor> crowd;
  for (int i = 0; i < 300; ++i) {
    crowd.push_back(unproven_peer());
    const std::string words(static_cast<size_t>(i), 'x');
    ::send(crowd.back().number(), words.data(), words.size(), MSG_NOSIGNAL);
  }
  const auto start = steady_clock::now();
  store->set("key", bytes("value"));
  EXPECT_EQ(client()->get("key"), bytes("value"));
  EXPECT_LT(steady_clock::now() - start, milliseconds(2000));
}

TEST_F(KeyedStores, SayThatTheStoreIsGone) {
  const auto store = client();
  end();
  EXPECT_THROW(store->get("key"), c10::DistNetworkError);
  try {
    client(milliseconds(200));
    FAIL() << "nobody listens";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("rank 1"));
  }
}

}  // namespace
}  // namespace larmor

#include "larmor/net/socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

double seconds_passed(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

/// A port where nobody listens.
int free_port() { return Listener("127.0.0.1", 0).port(); }

/// Of this end of a connection; 0 without one.
int own_port(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  const bool known = getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  return known ? ntohs(address.sin_port) : 0;
}

/// "4: message" of the error that making a listener throws.
std::string refusal_to_listen(const std::string& address, int port) {
  try {
    const Listener listener(address, port);
  } catch (const Error& error) {
    return text(static_cast<int>(error.exit()), ": ", error.message());
  }
  return "listens";
}

TEST(Listener, ListensAtItsAddressAlone) {
  const Listener listener("127.0.0.1", 0);
  std::string reason;
  EXPECT_TRUE(try_to_connect("127.0.0.1", listener.port(), milliseconds(1000), reason).is_open());
  EXPECT_FALSE(try_to_connect("127.0.0.2", listener.port(), milliseconds(1000), reason).is_open());
  EXPECT_EQ(reason, "Connection refused");
}

TEST(Listener, RefusesAPortThatAnotherHolds) {
  const Listener listener("127.0.0.1", 0);
  EXPECT_THAT(refusal_to_listen("127.0.0.1", listener.port()),
              AllOf(HasSubstr(text("4: cannot listen at 127.0.0.1:", listener.port())),
                    HasSubstr("the port is in use")));
}

TEST(Listener, RefusesAnAddressThatIsNotThisHosts) {
  EXPECT_THAT(refusal_to_listen("192.0.2.1", 0), HasSubstr("4: cannot listen at 192.0.2.1:0 on "));
  EXPECT_THAT(refusal_to_listen(std::string(70, 'x'), 0), HasSubstr("the name is not known here"));
}

TEST(Listener, TakesAPortWhoseOldConnectionsLinger) {
  int port = 0;
  {
    Listener listener("127.0.0.1", 0);
    port = listener.port();
    std::string reason;
    const Descriptor client = try_to_connect("127.0.0.1", port, milliseconds(1000), reason);
    listener.accept();  // and hangs up first, which leaves its end in TIME_WAIT
  }
  EXPECT_EQ(refusal_to_listen("127.0.0.1", port), "listens");
}

TEST(Listener, HandsOutConnectionsAndNeverWaitsForOne) {
  Listener listener("127.0.0.1", 0);
  EXPECT_FALSE(listener.accept().is_open());
  std::string reason;
  const Descriptor client = try_to_connect("localhost", listener.port(), milliseconds(1000), reason);
  ASSERT_TRUE(client.is_open()) << reason;
  EXPECT_TRUE(listener.accept().is_open());
  EXPECT_EQ(own_address(client.number()), "127.0.0.1");
}

TEST(TryToConnect, SaysWhyNot) {
  std::string reason;
  EXPECT_FALSE(try_to_connect("127.0.0.1", free_port(), milliseconds(1000), reason).is_open());
  EXPECT_EQ(reason, "Connection refused");
  EXPECT_FALSE(try_to_connect(std::string(70, 'x'), 1, milliseconds(1000), reason).is_open());
  EXPECT_THAT(reason, HasSubstr("the name is not known here"));
}

TEST(TryToConnect, GivesUpOnAHostThatDropsPackets) {
  // A full queue of connections answers as a firewall does: not at all.
  const Descriptor deaf(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Listener listener("127.0.0.1", 0);
  const Descriptor socket = listener.take();
  ASSERT_EQ(listen(socket.number(), 0), 0);
  std::vector<Descriptor> queue;
  std::string reason;
  const auto start = steady_clock::now();
  for (int i = 0; i < 4; ++i) {
    queue.push_back(try_to_connect("127.0.0.1", listener.port(), milliseconds(150), reason));
    if (!queue.back().is_open()) break;
  }
  EXPECT_FALSE(queue.back().is_open());
  EXPECT_EQ(reason, "Connection timed out");
  EXPECT_LT(seconds_passed(start), 2);
}

TEST(TryToConnect, NeverTakesItselfForSomebodyElse) {
  // Among so many attempts the kernel would choose the port asked for as the caller's own: half of all ports
  // are ones that it gives to callers.
  const int first = free_port();
  std::string reason;
  for (const int port : {first, first + 1}) {
    for (int attempt = 0; attempt < 30'000; ++attempt) {
      const Descriptor socket = try_to_connect("127.0.0.1", port, milliseconds(100), reason);
      ASSERT_NE(own_port(socket.number()), port) << "attempt " << attempt;
    }
  }
}

TEST(ConnectWithin, NamesWhoTriedWhereAndWhyInVain) {
  const int port = free_port();
  const auto start = steady_clock::now();
  try {
    connect_within("127.0.0.1", port, milliseconds(300), "rank 3");
    FAIL() << "somebody listens at " << port;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(),
                AllOf(HasSubstr(text("rank 3 could not reach the master at 127.0.0.1:", port, " within ")),
                      HasSubstr("connection refused")));
  }
  EXPECT_GE(seconds_passed(start), 0.3);
  EXPECT_LT(seconds_passed(start), 2);
}

TEST(ConnectWithin, WaitsForAMasterThatComesLate) {
  const int port = free_port();
  std::thread late([port] {
    std::this_thread::sleep_for(milliseconds(150));
    const Listener listener("127.0.0.1", port);
    std::this_thread::sleep_for(milliseconds(1500));
  });
  EXPECT_TRUE(connect_within("127.0.0.1", port, milliseconds(5000), "rank 1").is_open());
  late.join();
}

}  // namespace
}  // namespace larmor

#include "larmor/codec/decode_message.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace larmor {
namespace {

class Packets : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()), 0);
  }
  void TearDown() override {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }

  std::array<int, 2> ends_{};
};

TEST_F(Packets, CarryADescriptor) {
  const DecodeRequest sent{.rows = 7};
  ASSERT_TRUE(send_packet(ends_[0], as_packet(sent), ends_[0]));
  DecodeRequest received;
  int descriptor = -1;
  ASSERT_TRUE(receive_packet(ends_[1], as_packet(received), &descriptor));
  EXPECT_EQ(received.rows, 7);
  EXPECT_GT(descriptor, ends_[1]);
  EXPECT_EQ(::fcntl(descriptor, F_GETFD), FD_CLOEXEC);
  ::close(descriptor);
}

TEST_F(Packets, OfAnotherSizeAreNone) {
  const DecodeGreeting greeting;
  const DecodeReply reply;
  DecodeReply received;
  ASSERT_TRUE(send_packet(ends_[0], as_packet(greeting)));
  EXPECT_FALSE(receive_packet(ends_[1], as_packet(received)));
  DecodeGreeting little;
  ASSERT_TRUE(send_packet(ends_[0], as_packet(reply)));
  EXPECT_FALSE(receive_packet(ends_[1], as_packet(little)));
}

TEST_F(Packets, EndWithTheOtherSide) {
  ::close(std::exchange(ends_[1], -1));
  DecodeGreeting greeting;
  EXPECT_FALSE(receive_packet(ends_[0], as_packet(greeting)));
  EXPECT_FALSE(send_packet(ends_[0], as_packet(std::as_const(greeting)))) << "and no SIGPIPE ends the test";
}

TEST(ShortTexts, AreCutAndShownWithoutControlCharacters) {
  std::array<char, 8> text{};
  put_text(text, "a\033[2J\nmore than fits");
  EXPECT_EQ(text_in(text), "a\\u001b[2J\\nm");
  text.fill('x');
  EXPECT_EQ(text_in(text), "xxxxxxxx");
}

}  // namespace
}  // namespace larmor

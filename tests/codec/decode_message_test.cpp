#include "larmor/codec/decode_message.h"

#include <sys/socket.h>

#include <array>
#include <string>
#include <utility>

#include <fcntl.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

class Packets : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    ours_.reset(ends[0]);
    theirs_.reset(ends[1]);
  }
  int ours() const { return ours_.number(); }
  int theirs() const { return theirs_.number(); }

  Descriptor ours_, theirs_;
};

TEST_F(Packets, CarryADescriptor) {
  const DecodeRequest sent{.rows = 7};
  ASSERT_TRUE(send_packet(ours(), as_packet(sent), ours()));
  DecodeRequest received;
  Descriptor descriptor;
  ASSERT_TRUE(receive_packet(theirs(), as_packet(received), &descriptor));
  EXPECT_EQ(received.rows, 7);
  EXPECT_GT(descriptor.number(), theirs());
  EXPECT_EQ(::fcntl(descriptor.number(), F_GETFD), FD_CLOEXEC);
}

TEST_F(Packets, OfAnotherSizeAreNone) {
  const DecodeGreeting greeting;
  const DecodeReply reply;
  DecodeReply received;
  ASSERT_TRUE(send_packet(ours(), as_packet(greeting)));
  EXPECT_FALSE(receive_packet(theirs(), as_packet(received)));
  DecodeGreeting little;
  ASSERT_TRUE(send_packet(ours(), as_packet(reply)));
  EXPECT_FALSE(receive_packet(theirs(), as_packet(little)));
}

TEST_F(Packets, EndWithTheOtherSide) {
  theirs_.reset();
  DecodeGreeting greeting;
  EXPECT_FALSE(receive_packet(ours(), as_packet(greeting)));
  EXPECT_FALSE(send_packet(ours(), as_packet(std::as_const(greeting)))) << "and no SIGPIPE ends the test";
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

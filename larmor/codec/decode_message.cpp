#include "larmor/codec/decode_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "larmor/base/printable.h"
#include "larmor/base/process/system_error.h"

namespace larmor {

namespace {

/// Room for one descriptor beside a packet.
union DescriptorRoom {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
};

}  // namespace

std::string text_in(std::span<const char> field) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  return printable(std::string_view(field.data(), static_cast<std::size_t>(end - field.begin())));
}

bool send_packet(int socket, std::span<const std::byte> packet, std::optional<int> descriptor) {
  iovec part{const_cast<std::byte*>(packet.data()), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  DescriptorRoom room{};
  if (descriptor) {
    message.msg_control = room.bytes.data();
    message.msg_controllen = room.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &*descriptor, sizeof(int));
  }
  const ssize_t sent = after_signals([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(packet.size());
}

bool receive_packet(int socket, std::span<std::byte> packet, Descriptor* descriptor) {
  iovec part{packet.data(), packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  DescriptorRoom room{};
  if (descriptor != nullptr) {
    descriptor->reset();
    message.msg_control = room.bytes.data();
    message.msg_controllen = room.bytes.size();
  }
  const ssize_t received = after_signals([&] { return ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
  if (received < 0) return false;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (descriptor != nullptr && header != nullptr && header->cmsg_level == SOL_SOCKET &&
      header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof(int));
    descriptor->reset(number);
  }
  return received == static_cast<ssize_t>(packet.size()) && (message.msg_flags & MSG_TRUNC) == 0;
}

}  // namespace larmor

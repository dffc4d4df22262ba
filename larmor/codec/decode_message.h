// What a process and its decoder say to each other over a pair of sockets: messages of fixed size, one a
// packet. Compressed and decoded bytes lie in memory that they share; its descriptor travels with the first
// request that uses it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "larmor/base/process/descriptor.h"
#include "larmor/codec/unpacking.h"

namespace larmor {

/// Changes with the structures below.
inline constexpr uint32_t decode_protocol = 2;

/// The decoder's first word.
struct DecodeGreeting {
  uint32_t protocol = decode_protocol;
  uint32_t has_seccomp = 0;
  uint32_t landlock_version = 0;  // 0: none
  uint64_t address_space = 0;     // bytes that it takes without any picture
};

using ShortText = std::array<char, 80>;

/// Whether both sides keep shared memory of such a size for the requests to come, which then bring no
/// descriptor: pages that are there already cost less than the same again for each slice, picture or volume.
constexpr bool is_kept(uint64_t memory_bytes) { return memory_bytes <= uint64_t{32} << 20; }

/// The shared memory holds a uint64_t a fragment with its length, the fragments without gaps, and from
/// `output_begin` on the decoded frames.
struct DecodeRequest {
  uint32_t protocol = decode_protocol;
  uint32_t packing = 0;  // of Packing; 0: frames, which the numbers below describe
  int32_t rows = 0, columns = 0, frames = 0, samples = 0;
  int32_t bits_allocated = 0, bits_stored = 0, high_bit = 0;
  uint32_t is_signed = 0, by_plane = 0;
  uint64_t fragments = 0, memory_bytes = 0, output_begin = 0, output_bytes = 0;
  ShortText transfer_syntax{}, photometric{};
};

struct DecodeReply {
  enum class Status : uint32_t { decoded, refused, out_of_memory, other_protocol };
  Status status = Status::decoded;
  uint32_t by_plane = 0;
  Unpacked unpacked;  // unless frames were asked for
  ShortText photometric{};
  std::array<char, 400> message{};
  std::array<char, 200> hint{};
};

/// Copies as much of it as there is room for, with a zero behind.
template <std::size_t Size>
void put_text(std::array<char, Size>& to, std::string_view text) {
  to.fill('\0');
  text.substr(0, Size - 1).copy(to.data(), Size - 1);
}

/// Up to the first zero, and printable: the other side is not believed.
std::string text_in(std::span<const char> field);

/// One packet, with a descriptor or without. False when the other side is gone.
bool send_packet(int socket, std::span<const std::byte> packet, std::optional<int> descriptor = std::nullopt);
/// A packet of just this size. False when the other side is gone, or says something else. Takes a descriptor
/// only where there is a place for it, which holds none when none came.
bool receive_packet(int socket, std::span<std::byte> packet, Descriptor* descriptor = nullptr);

template <class Message>
std::span<const std::byte> as_packet(const Message& message) {
  return std::as_bytes(std::span(&message, 1));
}
template <class Message>
std::span<std::byte> as_packet(Message& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace larmor

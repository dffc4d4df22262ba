#include "larmor/track/tfevents.h"

#include <array>
#include <bit>

namespace larmor {
namespace {

constexpr std::array<uint32_t, 256> make_crc_table() {
  constexpr uint32_t reflected_polynomial = 0x82F63B78;
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ (rest & 1 ? reflected_polynomial : 0);
    table[byte] = rest;
  }
  return table;
}

/// Little-endian, whatever the machine.
template <class Word>
std::string bytes_of(Word word) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(Word); ++i) bytes.push_back(static_cast<char>((word >> (8 * i)) & 0xFF));
  return bytes;
}

/// A checksum of data that holds checksums says little, so the format scrambles what it stores.
uint32_t masked(uint32_t checksum) { return std::rotr(checksum, 15) + 0xA282EAD8U; }

/// A protocol-buffer message, field by field in the order of the calls.
class Message {
 public:
  Message& integer(uint32_t field, int64_t value) {
    key(field, 0);
    variable(static_cast<uint64_t>(value));
    return *this;
  }
  Message& real(uint32_t field, double value) {
    key(field, 1);
    bytes_ += bytes_of(std::bit_cast<uint64_t>(value));
    return *this;
  }
  Message& real(uint32_t field, float value) {
    key(field, 5);
    bytes_ += bytes_of(std::bit_cast<uint32_t>(value));
    return *this;
  }
  Message& bytes(uint32_t field, std::string_view value) {
    key(field, 2);
    variable(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(uint32_t field, const Message& value) { return bytes(field, value.bytes_); }
  const std::string& content() const { return bytes_; }

 private:
  void key(uint32_t field, uint32_t wire_type) { variable(field << 3 | wire_type); }
  void variable(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>((value & 0x7F) | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
};

Message event_at(double wall_seconds, int64_t step) {
  Message event;
  event.real(1, wall_seconds).integer(2, step);
  return event;
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr auto table = make_crc_table();
  uint32_t checksum = 0xFFFFFFFFU;
  for (const char byte : bytes) {
    checksum = table[(checksum ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (checksum >> 8);
  }
  return ~checksum;
}

std::string tfevents_record(std::string_view bytes) {
  const std::string length = bytes_of(static_cast<uint64_t>(bytes.size()));
  std::string record = length + bytes_of(masked(crc32c(length)));
  record += bytes;
  record += bytes_of(masked(crc32c(bytes)));
  return record;
}

std::string tfevents_version(double wall_seconds) {
  return tfevents_record(event_at(wall_seconds, 0).bytes(3, "brain.Event:2").content());
}

std::string tfevents_restart(double wall_seconds, int64_t first_step) {
  constexpr int64_t start = 1;  // SessionLog.START
  const Message session_log = Message().integer(1, start);
  return tfevents_record(event_at(wall_seconds, first_step).message(7, session_log).content());
}

std::string tfevents_scalars(double wall_seconds, int64_t step, const std::map<std::string, double>& values) {
  Message summary;
  for (const auto& [tag, value] : values) {
    summary.message(1, Message().bytes(1, tag).real(2, static_cast<float>(value)));
  }
  return tfevents_record(event_at(wall_seconds, step).message(5, summary).content());
}

std::string tfevents_image(double wall_seconds, int64_t step, std::string_view tag, const Picture& picture) {
  const Image& image = picture.image();
  // The colour space has the number of its channels: 1 grey, 3 RGB.
  const Message shown = Message()
                            .integer(1, image.height)
                            .integer(2, image.width)
                            .integer(3, image.channels)
                            .bytes(4, picture.png());
  const Message summary = Message().message(1, Message().bytes(1, tag).message(4, shown));
  return tfevents_record(event_at(wall_seconds, step).message(5, summary).content());
}

}  // namespace larmor

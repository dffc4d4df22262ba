#include "tests/track/support/event_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace larmor {
namespace {

/// Bit by bit from the polynomial's plain form, most significant bit first on mirrored input.
uint32_t slow_crc32c(std::string_view bytes) {
  uint64_t rest = 0;
  const auto feed = [&](int bit) {
    rest = rest << 1 | static_cast<uint64_t>(bit);
    if (rest >> 32) rest ^= 0x11EDC6F41;
  };
  std::string padded(bytes);
  padded.append(4, '\0');
  for (size_t i = 0; i < padded.size(); ++i) {
    const auto byte = static_cast<unsigned char>(static_cast<unsigned char>(padded[i]) ^ (i < 4 ? 0xFF : 0));
    for (int bit = 0; bit < 8; ++bit) feed(byte >> bit & 1);
  }
  uint32_t mirrored = 0;
  for (int bit = 0; bit < 32; ++bit) mirrored |= static_cast<uint32_t>(rest >> bit & 1) << (31 - bit);
  return ~mirrored;
}

template <class Value>
Value take(std::string_view& bytes) {
  if (bytes.size() < sizeof(Value)) throw std::runtime_error("the bytes end too early");
  Value value;
  std::memcpy(&value, bytes.data(), sizeof(Value));
  bytes.remove_prefix(sizeof(Value));
  return value;
}

std::string_view take_bytes(std::string_view& bytes, uint64_t size) {
  if (bytes.size() < size) throw std::runtime_error("the bytes end too early");
  const std::string_view front = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return front;
}

uint64_t take_variable(std::string_view& bytes) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<uint8_t>(bytes);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

void check(std::string_view bytes, uint32_t stored) {
  const uint32_t unmasked = stored - 0xA282EAD8U;
  const uint32_t checksum = unmasked << 15 | unmasked >> 17;
  if (checksum != slow_crc32c(bytes)) throw std::runtime_error("wrong checksum");
}

template <class Value>
Value from_bits(uint64_t bits) {
  Value value;
  std::memcpy(&value, &bits, sizeof(Value));
  return value;
}

DecodedEvent decode_event(std::string_view bytes) {
  DecodedMessage fields = decode_message(bytes);
  DecodedEvent event;
  event.wall_seconds = from_bits<double>(fields.numbers.at(1).at(0));
  event.step = static_cast<int64_t>(fields.numbers.at(2).at(0));
  if (fields.texts.contains(3)) event.version = fields.texts[3].at(0);
  if (fields.texts.contains(7))
    event.is_restart = decode_message(fields.texts[7].at(0)).numbers.at(1).at(0) == 1;
  if (!fields.texts.contains(5)) return event;
  const DecodedMessage summary = decode_message(fields.texts[5].at(0));
  for (const std::string& part : summary.texts.at(1)) {
    DecodedMessage value = decode_message(part);
    const std::string tag = value.texts.at(1).at(0);
    if (value.numbers.contains(2)) event.scalars[tag] = from_bits<float>(value.numbers[2].at(0));
    if (!value.texts.contains(4)) continue;
    const DecodedMessage image = decode_message(value.texts[4].at(0));
    event.pictures[tag] = {image.numbers.at(1).at(0), image.numbers.at(2).at(0), image.numbers.at(3).at(0),
                           image.texts.at(4).at(0)};
  }
  return event;
}

}  // namespace

DecodedMessage decode_message(std::string_view bytes) {
  DecodedMessage message;
  while (!bytes.empty()) {
    const uint64_t key = take_variable(bytes);
    const int field = static_cast<int>(key >> 3);
    switch (key & 7) {
      case 0:
        message.numbers[field].push_back(take_variable(bytes));
        break;
      case 1:
        message.numbers[field].push_back(take<uint64_t>(bytes));
        break;
      case 2:
        message.texts[field].emplace_back(take_bytes(bytes, take_variable(bytes)));
        break;
      case 5:
        message.numbers[field].push_back(take<uint32_t>(bytes));
        break;
      default:
        throw std::runtime_error("unknown wire type");
    }
  }
  return message;
}

std::vector<DecodedEvent> read_event_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string content{std::istreambuf_iterator<char>(stream), {}};
  std::vector<DecodedEvent> events;
  for (std::string_view rest = content; !rest.empty();) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<uint64_t>(rest);
    check(length_bytes, take<uint32_t>(rest));
    const std::string_view data = take_bytes(rest, length);
    check(data, take<uint32_t>(rest));
    events.push_back(decode_event(data));
  }
  return events;
}

std::vector<DecodedEvent> read_event_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  if (files.size() != 1) throw std::runtime_error("not one event file");
  return read_event_file(files[0]);
}

}  // namespace larmor

// A reader of TensorBoard event files that shares no code with the writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

/// The fields of one protocol-buffer message; a number field holds its raw bits, a text its bytes.
struct DecodedMessage {
  std::map<int, std::vector<std::string>> texts;
  std::map<int, std::vector<uint64_t>> numbers;
};
DecodedMessage decode_message(std::string_view bytes);

struct DecodedEvent {
  double wall_seconds = 0;
  int64_t step = 0;
  std::string version;
  bool is_restart = false;
  std::map<std::string, float> scalars;
  struct Picture {
    uint64_t height = 0, width = 0, channels = 0;
    std::string png;
  };
  std::map<std::string, Picture> pictures;
};

/// Throws std::runtime_error at a wrong length or checksum.
std::vector<DecodedEvent> read_event_file(const std::filesystem::path& file);
/// The events of the one file in `folder`.
std::vector<DecodedEvent> read_event_folder(const std::filesystem::path& folder);

}  // namespace larmor

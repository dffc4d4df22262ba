// The bytes of TensorBoard's event files: records with checksums around protocol-buffer messages. Field
// numbers are those of tensorflow's event.proto and summary.proto.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "larmor/base/image.h"

namespace larmor {

/// CRC-32C (Castagnoli).
uint32_t crc32c(std::string_view bytes);

/// Length, checksum of the length, bytes, checksum of the bytes.
std::string tfevents_record(std::string_view bytes);

/// The first record of every file.
std::string tfevents_version(double wall_seconds);
/// Tells readers to forget what an earlier, interrupted process wrote for `first_step` and later.
std::string tfevents_restart(double wall_seconds, int64_t first_step);
std::string tfevents_scalars(double wall_seconds, int64_t step, const std::map<std::string, double>& values);
std::string tfevents_image(double wall_seconds, int64_t step, std::string_view tag, const Picture& picture);

}  // namespace larmor

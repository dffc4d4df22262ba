#include "larmor/formats/voxel_format.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <c10/util/Half.h>

#include "larmor/base/ensure.h"

namespace larmor {

namespace {

template <std::size_t size>
using Word = std::conditional_t<
    size == 1, uint8_t,
    std::conditional_t<size == 2, uint16_t, std::conditional_t<size == 4, uint32_t, uint64_t>>>;

template <class Unsigned>
Unsigned swapped(Unsigned word) {
  if constexpr (sizeof(Unsigned) == 2) {
    return __builtin_bswap16(word);
  } else if constexpr (sizeof(Unsigned) == 4) {
    return __builtin_bswap32(word);
  } else if constexpr (sizeof(Unsigned) == 8) {
    return __builtin_bswap64(word);
  } else {
    return word;
  }
}

template <class Stored, bool swap>
Stored load(const std::byte* bytes) {
  Word<sizeof(Stored)> word;
  std::memcpy(&word, bytes, sizeof(word));
  if constexpr (swap) word = swapped(word);
  Stored value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

template <class Stored, bool swap, class Number>
void decode(const std::byte* bytes, const VoxelFormat& format, std::span<Number> out) {
  // Half has no direct conversion to double; float holds it exactly.
  using Wide = std::conditional_t<std::is_same_v<Stored, c10::Half>, float, Stored>;
  const std::size_t count = out.size();
  Number* const target = out.data();
  if (!format.is_scaled()) {
    for (std::size_t i = 0; i < count; ++i) {
      target[i] = static_cast<Number>(static_cast<Wide>(load<Stored, swap>(bytes + i * sizeof(Stored))));
    }
    return;
  }
  const double slope = format.slope, intercept = format.intercept;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(static_cast<Wide>(load<Stored, swap>(bytes + i * sizeof(Stored))));
    target[i] = static_cast<Number>(value * slope + intercept);
  }
}

template <class Stored, class Number>
void decode(const std::byte* bytes, const VoxelFormat& format, std::span<Number> out) {
  constexpr bool machine_is_big = std::endian::native == std::endian::big;
  if (format.big_endian == machine_is_big) {
    decode<Stored, false>(bytes, format, out);
  } else {
    decode<Stored, true>(bytes, format, out);
  }
}

template <class Number>
void decode_any(std::span<const std::byte> bytes, const VoxelFormat& format, std::span<Number> out) {
  ensure(bytes.size() == out.size() * bytes_of(format.type));
  switch (format.type) {
    case VoxelType::uint8:
      return decode<uint8_t>(bytes.data(), format, out);
    case VoxelType::int8:
      return decode<int8_t>(bytes.data(), format, out);
    case VoxelType::uint16:
      return decode<uint16_t>(bytes.data(), format, out);
    case VoxelType::int16:
      return decode<int16_t>(bytes.data(), format, out);
    case VoxelType::uint32:
      return decode<uint32_t>(bytes.data(), format, out);
    case VoxelType::int32:
      return decode<int32_t>(bytes.data(), format, out);
    case VoxelType::uint64:
      return decode<uint64_t>(bytes.data(), format, out);
    case VoxelType::int64:
      return decode<int64_t>(bytes.data(), format, out);
    case VoxelType::float16:
      return decode<c10::Half>(bytes.data(), format, out);
    case VoxelType::float32:
      return decode<float>(bytes.data(), format, out);
    case VoxelType::float64:
      return decode<double>(bytes.data(), format, out);
  }
}

}  // namespace

std::string to_text(VoxelType type) {
  switch (type) {
    case VoxelType::uint8:
      return "uint8";
    case VoxelType::int8:
      return "int8";
    case VoxelType::uint16:
      return "uint16";
    case VoxelType::int16:
      return "int16";
    case VoxelType::uint32:
      return "uint32";
    case VoxelType::int32:
      return "int32";
    case VoxelType::uint64:
      return "uint64";
    case VoxelType::int64:
      return "int64";
    case VoxelType::float16:
      return "float16";
    case VoxelType::float32:
      return "float32";
    case VoxelType::float64:
      return "float64";
  }
  return "";
}

std::size_t bytes_of(VoxelType type) {
  switch (type) {
    case VoxelType::uint8:
    case VoxelType::int8:
      return 1;
    case VoxelType::uint16:
    case VoxelType::int16:
    case VoxelType::float16:
      return 2;
    case VoxelType::uint32:
    case VoxelType::int32:
    case VoxelType::float32:
      return 4;
    case VoxelType::uint64:
    case VoxelType::int64:
    case VoxelType::float64:
      return 8;
  }
  return 0;
}

void decode_voxels(std::span<const std::byte> bytes, const VoxelFormat& format, std::span<float> out) {
  decode_any(bytes, format, out);
}

void decode_voxels(std::span<const std::byte> bytes, const VoxelFormat& format, std::span<double> out) {
  decode_any(bytes, format, out);
}

}  // namespace larmor

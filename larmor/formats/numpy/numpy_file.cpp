#include "larmor/formats/numpy/numpy_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/gzip.h"
#include "larmor/formats/numpy/zip_archive.h"

namespace larmor {

namespace {

constexpr std::string_view npy_magic("\x93NUMPY", 6), zip_magic("PK\x03\x04", 4),
    empty_zip_magic("PK\x05\x06", 4);
constexpr uint64_t largest_header = uint64_t{1} << 16;
constexpr std::size_t most_axes = 32;

bool begins_with(std::span<const std::byte> bytes, std::string_view word) {
  return bytes.size() >= word.size() &&
         std::equal(word.begin(), word.end(), bytes.begin(), [](char letter, std::byte byte) {
           return static_cast<unsigned char>(letter) == std::to_integer<unsigned char>(byte);
         });
}

struct Described {
  StoredArray array;
  bool holds_truth = false;  // a byte a value, 0 or 1
};

/// The header of a .npy is a Python dictionary with three keys. This reads that and nothing else.
class HeaderText {
 public:
  explicit HeaderText(std::string_view text) : rest_(text) {}

  Described read() {
    Described described;
    StoredArray& array = described.array;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !has_type) {
        read_type(described);
        has_type = true;
      } else if (key == "fortran_order" && !has_order) {
        array.first_axis_fastest = truth();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        array.shape = sizes();
        has_shape = true;
      } else {
        damaged();
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    if (!has_type || !has_order || !has_shape || !skip().empty()) damaged();
    return described;
  }

 private:
  [[noreturn]] static void damaged() { fail(Exit::data, "its NumPy header is damaged"); }

  std::string_view skip() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
    return rest_;
  }
  bool take(char letter) {
    if (skip().empty() || rest_.front() != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char letter) {
    if (!take(letter)) damaged();
  }
  std::string_view quoted() {
    skip();
    const char quote = rest_.empty() ? ' ' : rest_.front();
    if (quote != '\'' && quote != '"') damaged();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) damaged();
    const std::string_view word = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return word;
  }
  bool truth() {
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (!skip().starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    damaged();
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> shape;
    expect('(');
    while (!take(')')) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(skip().data(), rest_.data() + rest_.size(), size);
      const bool is_padded =
          rest_.starts_with('0') && end - rest_.data() > 1;  // which is no number of Python
      if (error != std::errc() || is_padded || shape.size() == most_axes) damaged();
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      shape.push_back(size);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  void read_type(Described& described);

  std::string_view rest_;
};

void HeaderText::read_type(Described& described) {
  StoredArray& array = described.array;
  if (skip().starts_with('[')) fail(Exit::data, "holds records with named fields, not numbers");
  const std::string_view type = quoted();
  struct Known {
    std::string_view name;
    VoxelType type;
  };
  static constexpr Known known[] = {
      {"u1", VoxelType::uint8},   {"b1", VoxelType::uint8},   {"i1", VoxelType::int8},
      {"u2", VoxelType::uint16},  {"i2", VoxelType::int16},   {"u4", VoxelType::uint32},
      {"i4", VoxelType::int32},   {"u8", VoxelType::uint64},  {"i8", VoxelType::int64},
      {"f2", VoxelType::float16}, {"f4", VoxelType::float32}, {"f8", VoxelType::float64}};
  if (type.ends_with('O')) {
    fail(Exit::data, "holds Python objects (a pickle), which could run code; only numbers are read",
         "save it as an array of numbers");
  }
  if (type.size() == 3 && std::string_view("<>|=").find(type[0]) != std::string_view::npos) {
    for (const Known& row : known) {
      if (row.name != type.substr(1)) continue;
      array.format.type = row.type;
      array.format.big_endian = type[0] == '>';
      described.holds_truth = row.name == "b1";
      return;
    }
  }
  fail(Exit::data, text("holds values of type ", type, ", which are not single numbers that are read"));
}

const ZipArchive::Entry& choose(const ZipArchive& archive, const std::string& key) {
  std::vector<std::string> keys;
  for (const auto& entry : archive.entries()) {
    keys.push_back(entry.name.ends_with(".npy") ? entry.name.substr(0, entry.name.size() - 4) : entry.name);
  }
  if (keys.empty()) fail(Exit::data, "is an archive without arrays");
  const std::vector<std::string> wanted =
      key.empty() ? std::vector<std::string>{"arr0", "arr_0", keys.front()} : std::vector{key};
  for (const std::string& name : wanted) {
    const auto found = std::find(keys.begin(), keys.end(), name);
    if (found != keys.end()) return archive.entries()[static_cast<std::size_t>(found - keys.begin())];
  }
  fail(Exit::data, text("has no array \"", key, "\"; it has ", join(keys, ", ")));
}

void check_truth(const StoredArray& array) {
  const bool sound =
      std::ranges::all_of(array.voxels(), [](std::byte value) { return value <= std::byte{1}; });
  if (!sound)
    fail(Exit::data, "holds truth values (b1) that are neither 0 nor 1",
         "write it anew, as uint8 where they are numbers");
}

/// All of a .npy array but its numbers, which may be absent from `bytes`.
Described described_array(std::span<const std::byte> bytes) {
  if (bytes.size() < 12 || !begins_with(bytes, npy_magic))
    fail(Exit::data, "does not begin like a .npy array");
  const auto byte = [&](std::size_t place) { return std::to_integer<uint64_t>(bytes[place]); };
  const uint64_t version = byte(6);
  if (version < 1 || version > 3 || byte(7) != 0)
    fail(Exit::data, text("is of .npy version ", version, '.', byte(7), "; 1.0, 2.0 and 3.0 are read"));
  const uint64_t start = version == 1 ? 10 : 12;
  uint64_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > largest_header || length > bytes.size() - start)
    fail(Exit::data, "its NumPy header is cut short");
  std::string header;
  for (uint64_t i = 0; i < length; ++i) header += static_cast<char>(byte(start + i));

  Described described = HeaderText(header).read();
  StoredArray& array = described.array;
  array.offset = start + length;
  array.bytes = checked_bytes(array.shape, bytes_of(array.format.type));
  return described;
}

uint64_t claimed_by_npy(std::span<const std::byte> beginning) {
  try {
    return described_array(beginning).array.bytes;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

bool looks_like_numpy(std::span<const std::byte> bytes) {
  return begins_with(bytes, npy_magic) || begins_with(bytes, zip_magic) ||
         begins_with(bytes, empty_zip_magic);
}

StoredArray parse_npy(Bytes file) {
  Described described = described_array(file.view());
  StoredArray& array = described.array;
  if (array.bytes > file.size() - array.offset) {
    fail(Exit::data, text("is cut short: its header claims ", array.bytes,
                          " bytes of numbers, but there are only ", file.size() - array.offset));
  }
  if (array.bytes < file.size() - array.offset) {
    fail(Exit::data,
         text("contradicts itself: its header claims ", array.bytes, " bytes of numbers, and ",
              file.size() - array.offset, " are there"),
         "fetch the file again, or write it anew: one array in a .npy file, several in an .npz archive");
  }
  array.file = std::move(file);
  if (described.holds_truth) check_truth(array);
  return std::move(described.array);
}

StoredArray open_numpy(const std::filesystem::path& path, const std::string& key) {
  Bytes file = read_file(path, InflateLimits{}.bytes);
  if (begins_with(file.view(), npy_magic)) return parse_npy(std::move(file));
  const ZipArchive archive(std::move(file));
  return parse_npy(archive.extract(choose(archive, key), claimed_by_npy));
}

at::Tensor read_numpy(const std::filesystem::path& path, const std::string& key) {
  return naming(path, [&] { return to_tensor(open_numpy(path, key)); });
}

}  // namespace larmor

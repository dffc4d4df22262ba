#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/life_sign.h"
#include "larmor/device/tensor_file.h"
#include "larmor/device/tensor_type.h"

namespace larmor {

namespace {

constexpr uint64_t largest_header = uint64_t{16} << 20;
constexpr size_t longest_name = 512;
constexpr size_t most_axes = 16;

/// One tensor as the header claims it.
struct Claim {
  std::string name;
  c10::ScalarType type = c10::kFloat;
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;
};

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  fail(Exit::checkpoint, text(path.string(), " is not a sound safetensors file: ", why),
       "take another copy of the file, or an older checkpoint");
}

// Requires: entry is the header's value for `name`.
Claim read_claim(const std::filesystem::path& path, const std::string& name, const Json& entry) {
  const auto bad = [&](const std::string& why) { refuse(path, text("tensor ", name, " ", why)); };
  if (name.empty() || name.size() > longest_name) bad("has a name that is empty or too long");
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    bad("does not have exactly dtype, shape and data_offsets");
  }
  Claim claim;
  claim.name = name;
  const auto type =
      entry["dtype"].is_string() ? type_of_safetensors(entry["dtype"].get<std::string>()) : std::nullopt;
  if (!type) bad("has an unknown dtype");
  claim.type = *type;

  const auto& shape = entry["shape"];
  if (!shape.is_array() || shape.size() > most_axes) bad("has a shape that is no list, or too long");
  uint64_t bytes = c10::elementSize(claim.type);
  for (const auto& size : shape) {
    if (!size.is_number_unsigned()) bad("has a shape that is not made of whole numbers");
    const auto length = size.get<uint64_t>();
    if (length > uint64_t{std::numeric_limits<int64_t>::max()} ||
        __builtin_mul_overflow(bytes, length, &bytes)) {
      bad("claims more elements than can be counted");
    }
    claim.shape.push_back(static_cast<int64_t>(length));
  }
  const auto& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    bad("has data_offsets that are not two whole numbers");
  }
  claim.begin = offsets[0].get<uint64_t>();
  claim.end = offsets[1].get<uint64_t>();
  if (claim.end < claim.begin || claim.end - claim.begin != bytes)
    bad("has a size that does not fit its shape");
  return claim;
}

// The claims in file order; together they fill `data_bytes` without hole or overlap.
std::vector<Claim> read_claims(const std::filesystem::path& path, const Json& header, uint64_t data_bytes,
                               Metadata* metadata) {
  std::vector<Claim> claims;
  for (const auto& [name, entry] : header.items()) {
    if (name != "__metadata__") {
      claims.push_back(read_claim(path, name, entry));
      continue;
    }
    if (!entry.is_object()) refuse(path, "__metadata__ is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) refuse(path, text("metadata ", key, " is not a string"));
      if (metadata != nullptr) (*metadata)[key] = value.get<std::string>();
    }
  }
  std::stable_sort(claims.begin(), claims.end(),
                   [](const Claim& a, const Claim& b) { return a.begin < b.begin; });
  uint64_t expected = 0;
  for (const auto& claim : claims) {
    if (claim.begin != expected)
      refuse(path, text("tensor ", claim.name, " leaves a hole or overlaps its neighbour"));
    expected = claim.end;
  }
  if (expected != data_bytes) {
    refuse(path, text("the tensors need ", expected, " bytes of data and the file has ", data_bytes));
  }
  return claims;
}

/// A file whose header has been checked.
struct OpenFile {
  std::ifstream stream;
  uint64_t data = 0;          // place of the first tensor
  std::vector<Claim> claims;  // in file order
};

OpenFile open_file(const std::filesystem::path& path, Metadata* metadata) {
  std::error_code no_size;
  const uint64_t file_bytes = std::filesystem::file_size(path, no_size);
  OpenFile file{.stream = std::ifstream(path, std::ios::binary), .claims = {}};
  if (no_size || !file.stream) {
    fail(Exit::checkpoint, text("cannot read ", path.string()),
         "check that the file is there and may be read");
  }
  uint64_t header_bytes = 0;
  if (file_bytes < sizeof header_bytes) refuse(path, "it is too short for a header");
  file.stream.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  if (header_bytes > largest_header || header_bytes > file_bytes - sizeof header_bytes) {
    refuse(path, text("its header claims ", header_bytes, " bytes of ", file_bytes));
  }
  std::string header(header_bytes, '\0');
  file.stream.read(header.data(), static_cast<std::streamsize>(header_bytes));
  Json json;
  try {
    json = parse_json(header, path.string());
  } catch (const Error& error) {
    refuse(path, "its header is not JSON: " + error.message());
  }
  if (!json.is_object()) refuse(path, "its header is not a JSON object");
  file.data = sizeof header_bytes + header_bytes;
  file.claims = read_claims(path, json, file_bytes - file.data, metadata);
  return file;
}

/// `tensor` is filled with what comes next.
void fill(std::ifstream& stream, const std::filesystem::path& path, const std::string& name,
          at::Tensor& tensor) {
  stream.read(static_cast<char*>(tensor.mutable_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
  if (!stream) refuse(path, text("it ends within tensor ", name));
  show_life();
}

}  // namespace

NamedTensors read_tensors(const std::filesystem::path& path, Metadata* metadata) {
  OpenFile file = open_file(path, metadata);
  NamedTensors tensors;
  for (const Claim& claim : file.claims) {
    auto tensor = at::empty(claim.shape, at::TensorOptions().dtype(claim.type));
    fill(file.stream, path, claim.name, tensor);
    tensors.emplace(claim.name, std::move(tensor));
  }
  return tensors;
}

StoredTensors open_tensors(const std::filesystem::path& path) {
  const auto file = std::make_shared<OpenFile>(open_file(path, nullptr));
  StoredTensors tensors;
  for (const Claim& claim : file->claims) {
    const auto read = [file, path, claim](int64_t first, int64_t count) {
      auto tensor = at::empty({count}, at::TensorOptions().dtype(claim.type));
      const uint64_t before = static_cast<uint64_t>(first) * c10::elementSize(claim.type);
      file->stream.seekg(static_cast<std::streamoff>(file->data + claim.begin + before));
      fill(file->stream, path, claim.name, tensor);
      return tensor;
    };
    tensors[claim.name] = {.shape = claim.shape, .read = read};
  }
  return tensors;
}

StoredTensors stored(const NamedTensors& tensors) {
  StoredTensors all;
  for (const auto& [name, tensor] : tensors) {
    const auto read = [tensor = tensor](int64_t first, int64_t count) {
      return tensor.detach().reshape({-1}).narrow(0, first, count);
    };
    all[name] = {.shape = tensor.sizes().vec(), .read = read};
  }
  return all;
}

}  // namespace larmor

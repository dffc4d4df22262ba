#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/heartbeat.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/device/tensors/tensor_type.h"

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
  // A tensor without elements has steps between them all the same, made of its other sizes.
  uint64_t bytes = c10::elementSize(claim.type), steps = bytes;
  for (const auto& size : shape) {
    if (!size.is_number_unsigned()) bad("has a shape that is not made of whole numbers");
    const auto length = size.get<uint64_t>();
    if (__builtin_mul_overflow(bytes, length, &bytes) ||
        __builtin_mul_overflow(steps, std::max<uint64_t>(length, 1), &steps) ||
        steps > uint64_t{std::numeric_limits<int64_t>::max()}) {
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
  RegularFile file;
  std::string beginning;      // what stands before the first tensor
  std::vector<Claim> claims;  // in file order
};

RegularFile open_readable(const std::filesystem::path& path) {
  try {
    return open_regular(path, Exit::checkpoint);
  } catch (const Error& error) {
    fail(Exit::checkpoint, text("cannot read ", path.string(), ": ", error.message()), error.hint());
  }
}

OpenFile open_file(const std::filesystem::path& path, Metadata* metadata) {
  RegularFile file = open_readable(path);
  uint64_t header_bytes = 0;
  constexpr uint64_t length_bytes = sizeof header_bytes;
  if (file.size() < length_bytes ||
      file.read_at(0, std::as_writable_bytes(std::span(&header_bytes, 1))) < length_bytes) {
    refuse(path, "it is too short for a header");
  }
  if (header_bytes > largest_header || header_bytes > file.size() - length_bytes) {
    refuse(path, text("its header claims ", header_bytes, " bytes of ", file.size()));
  }
  std::string beginning(length_bytes + header_bytes, '\0');
  if (file.read_at(0, std::as_writable_bytes(std::span(beginning))) < beginning.size())
    refuse(path, "it ends within its header");
  Json json;
  try {
    json = parse_json(std::string_view(beginning).substr(length_bytes), path.string());
  } catch (const Error& error) {
    refuse(path, "its header is not JSON: " + error.message());
  }
  if (!json.is_object()) refuse(path, "its header is not a JSON object");
  auto claims = read_claims(path, json, file.size() - beginning.size(), metadata);
  return {.file = std::move(file), .beginning = std::move(beginning), .claims = std::move(claims)};
}

/// `tensor` is filled with elements of the claimed one, from the `first` on.
void fill(const OpenFile& open, const std::filesystem::path& path, const Claim& claim, int64_t first,
          at::Tensor& tensor) {
  const uint64_t before = static_cast<uint64_t>(first) * c10::elementSize(claim.type);
  const std::span bytes(static_cast<std::byte*>(tensor.mutable_data_ptr()), tensor.nbytes());
  const std::size_t read =
      naming(path, [&] { return open.file.read_at(open.beginning.size() + claim.begin + before, bytes); });
  if (read < bytes.size()) refuse(path, text("it ends within tensor ", claim.name));
  send_heartbeat();
}

}  // namespace

NamedTensors read_tensors(const std::filesystem::path& path, Metadata* metadata, std::string* sha256) {
  const OpenFile open = open_file(path, metadata);
  Sha256 hash;
  if (sha256 != nullptr) hash.update(open.beginning);
  NamedTensors tensors;
  for (const Claim& claim : open.claims) {
    auto tensor = at::empty(claim.shape, at::TensorOptions().dtype(claim.type));
    fill(open, path, claim, 0, tensor);
    if (sha256 != nullptr)
      hash.update(std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
    tensors.emplace(claim.name, std::move(tensor));
  }
  if (sha256 != nullptr) *sha256 = hash.hex();
  return tensors;
}

StoredTensors open_tensors(const std::filesystem::path& path) {
  const auto open = std::make_shared<const OpenFile>(open_file(path, nullptr));
  StoredTensors tensors;
  for (const Claim& claim : open->claims) {
    const auto read = [open, path, claim](int64_t first, int64_t count) {
      auto tensor = at::empty({count}, at::TensorOptions().dtype(claim.type));
      fill(*open, path, claim, first, tensor);
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

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/device/tensors/tensor_type.h"

namespace larmor {

namespace {

struct Entry {
  std::string name;
  at::Tensor tensor;
};

std::vector<Entry> in_file_order(const NamedTensors& tensors) {
  std::vector<Entry> entries;
  for (const auto& [name, tensor] : tensors) entries.push_back({name, tensor});
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.tensor.element_size() > b.tensor.element_size();
  });
  return entries;
}

std::string header_text(const std::vector<Entry>& entries, const Metadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) {
    for (const auto& [key, value] : metadata) header["__metadata__"][key] = value;
  }
  uint64_t offset = 0;
  for (const auto& [name, tensor] : entries) {
    const auto type = safetensors_name(tensor.scalar_type());
    if (!type) {
      fail(Exit::unexpected, text("cannot store tensor ", name, ": type ",
                                  c10::toString(tensor.scalar_type()), " has no safetensors name"));
    }
    header[name]["dtype"] = *type;
    header[name]["shape"] = tensor.sizes().vec();
    header[name]["data_offsets"] = {offset, offset + tensor.nbytes()};
    offset += tensor.nbytes();
  }
  std::string out = header.dump();
  out.resize((out.size() + 7) / 8 * 8, ' ');  // the data starts at a multiple of 8
  return out;
}

}  // namespace

WrittenFile write_tensors(StorageFile& file, const NamedTensors& tensors, const Metadata& metadata) {
  const auto entries = in_file_order(tensors);
  const auto header = header_text(entries, metadata);
  Sha256 hash;
  WrittenFile written;
  const auto put = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    file.write(bytes);
    written.bytes += bytes.size();
  };
  const uint64_t header_size = header.size();
  static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");
  put(std::as_bytes(std::span(&header_size, 1)));
  put(std::as_bytes(std::span(header)));
  for (const auto& [name, tensor] : entries) {
    const auto host = tensor.to(at::kCPU).contiguous();
    put({static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()});
  }
  file.sync();
  file.close();
  written.sha256 = hash.hex();
  return written;
}

WrittenFile write_tensors(Storage& storage, const std::filesystem::path& path, const NamedTensors& tensors,
                          const Metadata& metadata) {
  return write_tensors(*storage.create(path), tensors, metadata);
}

}  // namespace larmor

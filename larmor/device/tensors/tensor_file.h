// safetensors files: named tensors, a JSON header, nothing that can execute.
// Source: the safetensors format, version 0.4 (header length, header, data).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/files/storage.h"

namespace larmor {

using NamedTensors = std::map<std::string, at::Tensor>;
using Metadata = std::map<std::string, std::string>;

/// What was written: for the manifest.
struct WrittenFile {
  uint64_t bytes = 0;
  std::string sha256;
};

/// Little-endian, row-major, wide types first and then by name, so that every tensor is aligned; equal
/// tensors give equal bytes. From front to back, synced and closed before it returns. Tensors may be on any
/// device.
WrittenFile write_tensors(StorageFile& file, const NamedTensors& tensors, const Metadata& metadata = {});
/// The same into a new file.
WrittenFile write_tensors(Storage& storage, const std::filesystem::path& path, const NamedTensors& tensors,
                          const Metadata& metadata = {});

/// Every rule of the format is checked before a tensor is made: header size, names, types, shapes,
/// offsets that neither overlap nor leave holes. Throws Error (`exit`: checkpoint) naming file and tensor.
/// `sha256` gets the hash of the very bytes that were read, whatever has become of the file since it was
/// verified.
NamedTensors read_tensors(const std::filesystem::path& path, Metadata* metadata = nullptr,
                          std::string* sha256 = nullptr);

/// A tensor that stays where it is until some of it is asked for.
struct StoredTensor {
  std::vector<int64_t> shape;
  /// So many elements from `first` on, in row-major order and flat.
  std::function<at::Tensor(int64_t first, int64_t count)> read;
};
using StoredTensors = std::map<std::string, StoredTensor>;

/// The tensors of a file, of which only the header is read and checked at once, as by read_tensors(). From
/// any thread.
StoredTensors open_tensors(const std::filesystem::path& path);
/// Tensors that are in memory already.
StoredTensors stored(const NamedTensors& tensors);

}  // namespace larmor

// Named tensors, and where they come from.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/caption.h"
#include "larmor/formats/affine.h"
#include "larmor/transforms/example_key.h"

namespace larmor {

/// Tensors of one example by name ("image" [C, D, H, W]); never positional.
using Sample = std::map<std::string, at::Tensor, std::less<>>;

class PreparableDataset;

/// One that is made around another is an ExamplesOf or a DatasetAround (data/dataset_around.h).
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Thread-safe. The same key gives the same bits, in any thread. Throws Error (data) when the example's
  /// file cannot be used, which a Loader takes as a reason to go on without it; any other error stops it.
  virtual Sample get(const ExampleKey& key) const = 0;
  /// A name for people: the file, relative to the data folder.
  virtual std::string name(int64_t example) const = 0;
  /// How many examples in a row come from the same files, such as the crops of one volume. Divides size().
  virtual int64_t examples_per_case() const { return 1; }
  /// Whose the example is: figures draw patients, each with all of theirs. By default the case is all that is
  /// known of its patient.
  virtual std::string patient(int64_t example) const { return name(example); }
  /// Where the voxels of the example's image are in the body, for who shows it; known when get() has given
  /// the example and not many others since, and where its file says so. Thread-safe.
  virtual std::optional<Affine> grid(int64_t /*example*/) const { return std::nullopt; }
  /// For who shows the example.
  virtual Caption caption(int64_t /*example*/) const { return {}; }
  /// The few examples that pictures show, of those that `stride` divides: by default the first four.
  virtual std::vector<int64_t> shown(int64_t stride) const;
  /// SHA-256 of the example's files; empty when they cannot be read or are none.
  virtual std::string content_hash(int64_t /*example*/) const { return {}; }
  /// The cases that can be prepared before a run; null where there are none.
  virtual const PreparableDataset* preparable() const { return nullptr; }
};

/// An example that failed with `error`, for the list of bad files.
BadFile bad_file_of(const Dataset& dataset, int64_t example, const Error& error);

/// Examples put together: tensors [N, …], and who they are.
struct Batch {
  std::map<std::string, at::Tensor, std::less<>> tensors;
  std::vector<ExampleKey> keys;
  /// In the order of the run, one a row: the examples consumed by all ranks before it. From a Loader alone.
  std::vector<int64_t> positions = {};
  int64_t size() const { return static_cast<int64_t>(keys.size()); }
  const at::Tensor& at(std::string_view name) const;  // throws Error (data) naming what there is
};

/// Stacks copies, so that nothing done to a batch reaches a dataset that keeps its samples. Throws Error
/// (data) when the samples differ in names, shapes or types. Requires: as many keys as samples, at least one.
Batch collate(const std::vector<Sample>& samples, const std::vector<ExampleKey>& keys);

}  // namespace larmor

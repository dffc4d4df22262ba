// Datasets around another one: who an example is, and where its voxels are, the other one says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/dataset.h"

namespace larmor {

/// Examples that come from those of another dataset. What Dataset's functions say of an example is what the
/// other one says of the example it comes from, so that a subclass writes only what it changes.
class ExamplesOf : public Dataset {
 public:
  explicit ExamplesOf(std::unique_ptr<const Dataset> inner);
  /// Borrows.
  explicit ExamplesOf(const Dataset& inner) : inner_(inner) {}

  Sample get(const ExampleKey& key) const override;
  std::string name(int64_t example) const override { return inner_.name(source_of(example)); }
  std::string patient(int64_t example) const override { return inner_.patient(source_of(example)); }
  std::optional<Affine> grid(int64_t example) const override { return inner_.grid(source_of(example)); }
  Caption caption(int64_t example) const override { return inner_.caption(source_of(example)); }
  std::string content_hash(int64_t example) const override { return inner_.content_hash(source_of(example)); }

 protected:
  const Dataset& inner() const { return inner_; }
  /// The example of the other dataset that this one comes from.
  virtual int64_t source_of(int64_t example) const = 0;

 private:
  const std::unique_ptr<const Dataset> own_;
  const Dataset& inner_;
};

/// The same examples as another dataset's.
class DatasetAround : public ExamplesOf {
 public:
  using ExamplesOf::ExamplesOf;

  int64_t size() const override { return inner().size(); }
  int64_t examples_per_case() const override { return inner().examples_per_case(); }
  std::vector<int64_t> shown(int64_t stride) const override { return inner().shown(stride); }
  const PreparableDataset* preparable() const override { return inner().preparable(); }

 private:
  int64_t source_of(int64_t example) const final { return example; }
};

}  // namespace larmor

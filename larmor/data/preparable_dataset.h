// A dataset whose cases can be prepared before a run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "larmor/data/dataset.h"

namespace larmor {

struct CachePlace {
  std::filesystem::path folder;
  uint64_t budget_bytes = 0, present_bytes = 0;  // what it may hold; what it holds, whoever put it there
};

class PreparableDataset : public Dataset {
 public:
  /// size() is cases() times examples_per_case().
  virtual int64_t cases() const = 0;
  virtual std::string case_name(int64_t number) const = 0;
  /// Puts the case into the prepared cache unless it is there. Gives the bytes that it takes there; 0 when
  /// there was no room. Thread-safe. Throws as get() does.
  virtual uint64_t prepare(int64_t number) const = 0;
  /// Whether it is there, without preparing it; its source files may have to be hashed.
  virtual bool is_prepared(int64_t number) const = 0;
  virtual CachePlace cache_place() const = 0;
  const PreparableDataset* preparable() const override { return this; }
};

}  // namespace larmor

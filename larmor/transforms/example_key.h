// Which example, in which round: what every random choice made for it depends on.
#pragma once

#include <cstdint>

namespace larmor {

/// One example's place in the endless order: fixes every random choice made for it.
struct ExampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t example = 0;  // index into the dataset
  bool operator==(const ExampleKey&) const = default;
};

}  // namespace larmor

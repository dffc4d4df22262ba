// Reproducible initialisation: libtorch's modules draw from the process-wide generator, so they are built one
// at a time under a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

namespace larmor {

/// While it lives, libtorch's default CPU generator starts from `seed` and no other thread initialises
/// modules; afterwards the generator is as it was.
class SeededInitialisation {
 public:
  explicit SeededInitialisation(uint64_t seed);
  ~SeededInitialisation();
  SeededInitialisation(const SeededInitialisation&) = delete;
  SeededInitialisation& operator=(const SeededInitialisation&) = delete;

 private:
  struct Saved;
  std::unique_lock<std::mutex> lock_;
  std::unique_ptr<Saved> saved_;
};

/// A number that changes whenever libtorch's default CPU generator is used.
uint64_t default_generator_fingerprint();

}  // namespace larmor

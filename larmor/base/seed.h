// Random numbers that belong to an example, not to a worker: a counter-based generator (Philox 4x32-10)
// keyed by run seed, epoch, example and purpose. Same bits on every CPU, thread count and split.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace larmor {

struct Key {
  uint64_t key = 0;
  uint64_t stream = 0;
};

/// A purpose is a name ("crop", "posterior"); its hash keeps the draws of different purposes apart.
Key make_key(uint64_t seed, uint64_t epoch, uint64_t example, std::string_view purpose);

/// The halves of make_key(): what all examples of a run share for a purpose, and what tells one from another.
/// Each turn (the steps of a sampler, say) has keys of its own; turn 0 has those of make_key().
uint64_t purpose_key(uint64_t seed, std::string_view purpose, uint64_t turn = 0);
uint64_t example_stream(uint64_t epoch, uint64_t example);

/// The four words of block `counter`.
std::array<uint32_t, 4> philox(Key key, uint64_t counter);

/// Standard normals; element i depends on (key, i) alone. Thread-safe.
void fill_normal(Key key, std::span<float> out);
/// Uniform in [0, 1), 24 bits.
void fill_uniform(Key key, std::span<float> out);
/// True where the element's word is below `threshold`: a mask of dropout. The same bits on every device.
void fill_kept(Key key, uint64_t threshold, std::span<bool> out);
/// The threshold that keeps a share of the elements, to 2^-32. Requires: 0 <= keep <= 1
uint64_t keep_threshold(double keep);
/// Uniform in [0, limit), off by limit / 2^64 at most. The same bits on every device. Requires: limit > 0
uint64_t integer_below(Key key, uint64_t limit);

/// A short stream of scalar draws for one purpose: uniform(), below(n), normal().
class Draws {
 public:
  explicit Draws(Key key) : key_(key) {}
  double uniform();                // [0, 1), 53 bits
  uint64_t below(uint64_t limit);  // unbiased. Requires: limit > 0
  double normal();

 private:
  uint64_t word();
  Key key_;
  uint64_t counter_ = 0;
  std::array<uint32_t, 4> block_{};
  int left_ = 0;
};

}  // namespace larmor

// A permutation that nobody has to hold: which index stands in which place is computed, in the same time and
// memory for ten indices and for thirty million. A Feistel network over the next power of four with keyed
// rounds, walked until it comes back to an index that there is. Integers alone: the same on every machine.
// Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace larmor {

/// A permutation of 0 … size - 1, a function of (seed, epoch) alone. A value; thread-safe.
class KeyedPermutation {
 public:
  /// Requires: 0 <= size <= 2^62.
  KeyedPermutation(uint64_t seed, uint64_t epoch, int64_t size);

  int64_t size() const { return size_; }
  /// The index in a place. Requires: 0 <= place < size()
  int64_t at(int64_t place) const;
  /// The place of an index: at(place_of(index)) == index. Requires: 0 <= index < size()
  int64_t place_of(int64_t index) const;

 private:
  // Many, because small networks mix little in each: four elements are two halves of one bit.
  static constexpr size_t rounds = 24;

  uint64_t forward(uint64_t value) const;
  uint64_t backward(uint64_t value) const;
  uint64_t mask() const { return (uint64_t{1} << half_bits_) - 1; }

  int64_t size_;
  int half_bits_;  // of each half of a value: 4^half_bits_ values hold the indices
  std::array<uint64_t, rounds> keys_;
};

}  // namespace larmor

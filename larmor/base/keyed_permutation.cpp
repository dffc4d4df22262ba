#include "larmor/base/keyed_permutation.h"

#include <bit>

#include "larmor/base/ensure.h"
#include "larmor/base/seed.h"

namespace larmor {
namespace {

/// The finalizer of SplitMix64, of which a round takes the upper bits.
constexpr uint64_t scrambled(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace

KeyedPermutation::KeyedPermutation(uint64_t seed, uint64_t epoch, int64_t size) : size_(size) {
  constexpr int64_t largest = int64_t{1} << 62;
  ensure(size >= 0 && size <= largest);
  const int bits = size > 1 ? std::bit_width(static_cast<uint64_t>(size - 1)) : 0;
  half_bits_ = (bits + 1) / 2;
  const Key key = make_key(seed, epoch, 0, "order");
  for (size_t round = 0; round < rounds; round += 2) {
    const auto words = philox(key, round / 2);
    keys_[round] = (uint64_t{words[1]} << 32) | words[0];
    keys_[round + 1] = (uint64_t{words[3]} << 32) | words[2];
  }
}

// A round replaces (left, right) by (right, left + a function of right), all of half_bits_ bits.
uint64_t KeyedPermutation::forward(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & mask();
  for (const uint64_t key : keys_) {
    const uint64_t next = (left + (scrambled(right + key) >> 32)) & mask();
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

uint64_t KeyedPermutation::backward(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & mask();
  for (size_t round = rounds; round-- > 0;) {
    const uint64_t before = (right - (scrambled(left + keys_[round]) >> 32)) & mask();
    right = left;
    left = before;
  }
  return (left << half_bits_) | right;
}

// The values beyond the indices lie on the same cycles: whoever lands there goes on, a step or two on
// average, since an index is at least every fourth value.
int64_t KeyedPermutation::at(int64_t place) const {
  ensure(place >= 0 && place < size_);
  const auto size = static_cast<uint64_t>(size_);
  uint64_t value = forward(static_cast<uint64_t>(place));
  while (value >= size) value = forward(value);
  return static_cast<int64_t>(value);
}

int64_t KeyedPermutation::place_of(int64_t index) const {
  ensure(index >= 0 && index < size_);
  const auto size = static_cast<uint64_t>(size_);
  uint64_t value = backward(static_cast<uint64_t>(index));
  while (value >= size) value = backward(value);
  return static_cast<int64_t>(value);
}

}  // namespace larmor

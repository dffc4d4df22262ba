// Which examples a batch is made of when some of them must never be missing: patients with an event, say.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace larmor {

/// Where a position of the order comes from: the `index`-th of its kind, counted from the run's start.
struct QuotaPlace {
  bool is_member = false;
  int64_t index = 0;
};

/// Deals positions out to members and others. Each batch of `batch` positions holds at least `least` members;
/// as many as their share of all examples where that is more, so that no example is then seen more often than
/// another. Where in the batch they stand is drawn for each batch.
class Quota {
 public:
  /// `members`: distinct examples, ascending. Throws Error: usage when `least` is not below `batch`; data
  /// when `least` is above 0 and there are no members, or no others.
  Quota(uint64_t seed, int64_t examples, std::vector<int64_t> members, int64_t least, int64_t batch);

  QuotaPlace place_of(int64_t position) const;
  /// Of the kind; `rank` in 0 … count of the kind.
  int64_t example(bool is_member, int64_t rank) const;
  int64_t count(bool is_member) const;

 private:
  int64_t members_before(int64_t batch) const;

  uint64_t seed_;
  int64_t batch_, least_;
  std::array<std::vector<int64_t>, 2> examples_;  // others, members
};

}  // namespace larmor

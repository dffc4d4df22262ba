// The collectives of all ranks side by side, by group and number, and the first place where they differ.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "larmor/watch/rank_status.h"

namespace larmor {

/// "0, 2, 3", "0-511".
std::string rank_list(const std::vector<int>& ranks);
/// "rank 1", "ranks 0, 2, 3".
std::string ranks_text(const std::vector<int>& ranks);

/// What one rank did at one number of one group.
struct CollectiveState {
  enum class Kind { begun, not_begun, unknown };  // unknown: longer ago than its status reaches
  Kind kind = Kind::unknown;
  Collective collective;  // of one that was begun
};

class CollectiveOrder {
 public:
  explicit CollectiveOrder(const std::vector<RankStatus>& ranks);

  /// Groups of which something is known, those first in which most ranks wait.
  const std::vector<int>& groups() const { return groups_; }
  /// The numbers that any rank has begun.
  std::vector<int64_t> numbers(int group) const;
  /// The states of every rank.
  std::vector<CollectiveState> states(int group, int64_t number) const;

  /// Whether `rank` has begun something to which `other` has still to come.
  bool is_ahead_of(size_t rank, size_t other) const;

  struct Difference {
    std::vector<int> differing, others;  // ranks; unknown ones are in neither
    CollectiveState differs, other;      // of the first of each
  };
  /// The first number at which ranks did different things, or to which some never came, in a group in which
  /// some wait: in others, ranks may be at different places and go on. Those differ that are fewer; of
  /// equally many those that did not come, else those without the lowest rank.
  std::optional<Difference> first_difference() const;

 private:
  struct Row {
    bool is_complete = true;                              // from its first collective on
    std::map<int, std::map<int64_t, Collective>> groups;  // by number
  };
  std::optional<Difference> difference_at(int group, int64_t number) const;

  std::vector<Row> rows_;
  std::vector<int> groups_;
  std::set<int> contested_;
};

}  // namespace larmor

#include "larmor/watch/collective_order.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "larmor/base/text.h"

namespace larmor {
namespace {

/// What has to be the same on all ranks.
auto call_of(const CollectiveState& state) {
  return std::make_tuple(state.kind, state.collective.kind, state.collective.elements,
                         state.collective.element);
}

}  // namespace

std::string rank_list(const std::vector<int>& ranks) {
  std::vector<std::string> words;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (end - i > 2) {
      words.push_back(text(ranks[i], "-", ranks[end - 1]));
    } else {
      for (size_t each = i; each < end; ++each) words.push_back(text(ranks[each]));
    }
    i = end;
  }
  return join(words, ", ");
}

std::string ranks_text(const std::vector<int>& ranks) {
  return text(ranks.size() == 1 ? "rank " : "ranks ", rank_list(ranks));
}

CollectiveOrder::CollectiveOrder(const std::vector<RankStatus>& ranks) {
  std::map<int, int> waiting;  // by group
  for (const RankStatus& status : ranks) {
    // Who has waited in a collective has begun one: then they were left out of the status.
    const bool left_out = status.collectives.empty() && (status.waited > 0 || status.waits_for);
    Row row{.is_complete = status.collectives.size() < most_collectives && !left_out, .groups = {}};
    for (const Collective& collective : status.collectives) {
      row.groups[collective.group][collective.number] = collective;
      waiting[collective.group] += 0;
    }
    if (status.is_waiting() && status.waits_for) ++waiting[status.waits_for->group];
    rows_.push_back(std::move(row));
  }
  for (const auto& [group, count] : waiting) {
    groups_.push_back(group);
    if (count > 0) contested_.insert(group);
  }
  std::stable_sort(groups_.begin(), groups_.end(),
                   [&](int first, int second) { return waiting[first] > waiting[second]; });
}

std::vector<int64_t> CollectiveOrder::numbers(int group) const {
  std::set<int64_t> numbers;
  for (const Row& row : rows_) {
    const auto found = row.groups.find(group);
    if (found == row.groups.end()) continue;
    for (const auto& [number, collective] : found->second) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<CollectiveState> CollectiveOrder::states(int group, int64_t number) const {
  std::vector<CollectiveState> states;
  for (const Row& row : rows_) {
    CollectiveState state;
    const auto known = row.groups.find(group);
    if (known == row.groups.end()) {
      if (row.is_complete) state.kind = CollectiveState::Kind::not_begun;
    } else if (const auto found = known->second.find(number); found != known->second.end()) {
      state = {CollectiveState::Kind::begun, found->second};
    } else if (number > known->second.rbegin()->first) {
      state.kind = CollectiveState::Kind::not_begun;
    }
    states.push_back(state);
  }
  return states;
}

bool CollectiveOrder::is_ahead_of(size_t rank, size_t other) const {
  for (const auto& [group, collectives] : rows_[rank].groups) {
    const auto known = rows_[other].groups.find(group);
    if (known == rows_[other].groups.end() && !rows_[other].is_complete) continue;
    const int64_t last = known == rows_[other].groups.end() ? 0 : known->second.rbegin()->first;
    if (collectives.rbegin()->first > last) return true;
  }
  return false;
}

std::optional<CollectiveOrder::Difference> CollectiveOrder::difference_at(int group, int64_t number) const {
  const auto all = states(group, number);
  std::vector<std::vector<int>> camps;  // of ranks that did the same, in the order of their first
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].kind == CollectiveState::Kind::unknown) continue;
    const auto camp = std::find_if(camps.begin(), camps.end(), [&](const std::vector<int>& ranks) {
      return call_of(all[static_cast<size_t>(ranks[0])]) == call_of(all[rank]);
    });
    if (camp != camps.end()) {
      camp->push_back(static_cast<int>(rank));
    } else {
      camps.push_back({static_cast<int>(rank)});
    }
  }
  if (camps.size() < 2) return std::nullopt;
  const auto state_of = [&](const std::vector<int>& camp) { return all[static_cast<size_t>(camp[0])]; };
  const auto weight = [&](const std::vector<int>& camp) {
    const bool came = state_of(camp).kind == CollectiveState::Kind::begun;
    return std::make_tuple(camp.size(), came, -camp[0]);
  };
  const auto most = std::max_element(camps.begin(), camps.end(), [&](const auto& first, const auto& second) {
    return weight(first) < weight(second);
  });
  const auto& fewer = camps[most == camps.begin() ? 1 : 0];  // of several the one with the lowest rank
  return Difference{
      .differing = fewer, .others = *most, .differs = state_of(fewer), .other = state_of(*most)};
}

std::optional<CollectiveOrder::Difference> CollectiveOrder::first_difference() const {
  for (const int group : groups_) {
    if (!contested_.empty() && !contested_.contains(group)) continue;
    for (const int64_t number : numbers(group)) {
      if (auto difference = difference_at(group, number)) return difference;
    }
  }
  return std::nullopt;
}

}  // namespace larmor

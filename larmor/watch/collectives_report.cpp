// The table that a hang leaves in a file.
#include <algorithm>
#include <string_view>

#include "larmor/base/text.h"
#include "larmor/watch/collective_order.h"
#include "larmor/watch/hang_watch.h"

namespace larmor {
namespace {

std::string padded(std::string words, size_t width) {
  if (words.size() < width) words.append(width - words.size(), ' ');
  return words;
}

std::string report_line(size_t rank, const RankStatus& status) {
  std::string line = padded(text("rank ", rank), 10);
  line += padded(std::string(to_text(status.phase)), 18);
  line += padded(text("step ", status.step), 14);
  line += padded(text("last heartbeat ", fixed(status.quiet, 1), " s ago"), 36);
  if (status.waiting_seconds() > 0) {
    line += text("waits ", fixed(status.waiting_seconds(), 1), " s in ",
                 status.waits_for ? to_text(*status.waits_for) : "a collective");
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string state_words(const CollectiveState& state) {
  if (state.kind == CollectiveState::Kind::unknown) return "no longer known";
  if (state.kind == CollectiveState::Kind::not_begun) return "not begun";
  return text(to_text(state.collective), state.collective.finished ? "" : ", not ended");
}

std::string number_line(const CollectiveOrder& order, int group, int64_t number) {
  const auto states = order.states(group, number);
  std::vector<std::pair<std::string, std::vector<int>>> camps;
  for (size_t rank = 0; rank < states.size(); ++rank) {
    const std::string words = state_words(states[rank]);
    auto camp =
        std::find_if(camps.begin(), camps.end(), [&](const auto& known) { return known.first == words; });
    if (camp == camps.end()) camp = camps.insert(camps.end(), {words, {}});
    camp->second.push_back(static_cast<int>(rank));
  }
  std::string line = padded(text("  #", number), 12);
  for (size_t i = 0; i < camps.size(); ++i) {
    const bool all = camps.size() == 1 && states.size() > 1;
    line += text(i == 0 ? "" : " | ", all ? "all ranks" : ranks_text(camps[i].second), ": ", camps[i].first);
  }
  return line + "\n";
}

}  // namespace

std::string collectives_report(const std::vector<RankStatus>& ranks) {
  std::string report;
  for (size_t rank = 0; rank < ranks.size(); ++rank) report += report_line(rank, ranks[rank]);
  const CollectiveOrder order(ranks);
  for (const int group : order.groups()) {
    report += text("\nthe last collectives of group ", group, group == 0 ? " (training)\n" : "\n");
    for (const int64_t number : order.numbers(group)) report += number_line(order, group, number);
  }
  return report;
}

}  // namespace larmor

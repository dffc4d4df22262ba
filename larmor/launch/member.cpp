#include "larmor/launch/member.h"

#include <array>
#include <exception>
#include <optional>
#include <vector>

#include <poll.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/readiness.h"
#include "larmor/base/text.h"
#include "larmor/launch/wire_number.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds report_interval(500);
constexpr int most_status = 255, most_signal = 64;
constexpr size_t longest_message = size_t{1} << 20;

void report_statuses(Channel& leader, LocalHost& host) {
  Json statuses = Json::object(), states = Json::object();
  for (const auto& [rank, status] : host.statuses()) {
    statuses[text(rank)] = to_json(status, /*with_collectives=*/true);
    states[text(rank)] = host.process_state(rank);
  }
  Json message;
  message["statuses"] = std::move(statuses);
  message["states"] = std::move(states);
  leader.send(message);
}

/// A start that cannot be is the end of each of its ranks, as far as the leader is concerned.
void start_or_report(Channel& leader, LocalHost& host, GroupStart start, const CompleteStart& complete) {
  try {
    complete(start);
    host.start(start);
  } catch (const Error& error) {
    for (const auto& place : start.ranks) {
      RankEnding ending{.rank = place.rank,
                        .ranks = place.ranks,
                        .evidence = text("on ", host.name(), ": ", error.message())};
      ending.ending.status = static_cast<int>(error.exit());
      leader.send({{"ended", to_json(ending)}});
    }
  }
}

void obey(const Json& message, Channel& leader, LocalHost& host, const CompleteStart& complete,
          std::optional<Dismissal>& over) {
  if (message.contains("start")) {
    start_or_report(leader, host, group_start_from_json(message.at("start")), complete);
  } else if (message.contains("send")) {
    const auto& order = message.at("send");
    host.send(whole_number(order, "rank", 0, most_ranks), whole_number(order, "signal", 1, most_signal));
  } else if (message.contains("over")) {
    const auto& end = message.at("over");
    over = Dismissal{.status = whole_number(end, "status", 0, most_status),
                     .message = short_text(end, "message", longest_message)};
  }
}

void wait_for_something(const Channel& leader, const LocalHost& host, milliseconds limit) {
  std::vector<pollfd> watched = {{leader.descriptor(), POLLIN, 0}};
  for (const int descriptor : host.descriptors()) watched.push_back({descriptor, POLLIN, 0});
  wait_for_any(watched, limit);
}

/// Returns when they are gone, or after a while when the kernel holds one.
void end_ranks(LocalHost& host) {
  for (const auto& [rank, status] : host.statuses()) host.send(rank, SIGKILL);
  const auto deadline = steady_clock::now() + std::chrono::seconds(5);
  while (!host.statuses().empty() && steady_clock::now() < deadline) {
    std::vector<pollfd> watched;
    for (const int descriptor : host.descriptors()) watched.push_back({descriptor, POLLIN, 0});
    wait_for_any(watched, milliseconds(20));
    host.take_endings();
  }
}

[[noreturn]] void lose_leader(LocalHost& host, const std::string& why) {
  end_ranks(host);
  fail(Exit::rank_lost,
       text("the leader of the group was lost: ", why, "; the ranks of this host were ended"),
       "its console and its launcher.log say why; the run goes on from its newest checkpoint when it is "
       "started again");
}

}  // namespace

Dismissal serve(Channel& leader, LocalHost& host, const CompleteStart& complete, milliseconds silence,
                milliseconds pause) {
  auto heard = steady_clock::now(), reported = heard;
  std::optional<Dismissal> over;
  while (!over) {
    wait_for_something(leader, host, report_interval / 2);
    const auto messages = leader.receive();
    if (!messages.empty()) heard = steady_clock::now();
    try {
      for (const auto& message : messages) obey(message, leader, host, complete, over);
    } catch (const std::exception& error) {  // a number out of range, a key that is not there
      lose_leader(host, text("it sent something that is no message of larmor (", error.what(), ")"));
    }
    if (over) break;
    if (leader.is_closed()) lose_leader(host, leader.why_closed());
    const auto limit = host.statuses().empty() ? pause : silence;
    if (steady_clock::now() - heard > limit) {
      lose_leader(
          host, text("it has been silent for ", human_seconds(std::chrono::duration<double>(limit).count())));
    }
    while (const int signal = host.take_signal()) leader.send({{"signal", signal}});
    for (const auto& ending : host.take_endings()) leader.send({{"ended", to_json(ending)}});
    if (steady_clock::now() - reported >= report_interval) {
      report_statuses(leader, host);
      reported = steady_clock::now();
    }
  }
  end_ranks(host);
  return *over;
}

}  // namespace larmor

#include "larmor/launch/member.h"

#include <array>
#include <exception>
#include <optional>
#include <vector>

#include <poll.h>
#include <signal.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/net/wire_number.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds report_interval(500);
constexpr int most_status = 255, most_signal = 64;
constexpr size_t longest_message = size_t{1} << 20;

void wait_for_something(const Channel& leader, const Host& host, milliseconds limit) {
  std::vector<pollfd> watched = {{leader.descriptor(), POLLIN, 0}};
  for (const int descriptor : host.descriptors()) watched.push_back({descriptor, POLLIN, 0});
  wait_for_any(watched, limit);
}

/// Returns when they are gone, or after a while when the kernel holds one.
void end_ranks(Host& host) {
  for (const auto& [rank, status] : host.statuses()) host.send(rank, SIGKILL);
  const auto deadline = steady_clock::now() + std::chrono::seconds(5);
  while (!host.statuses().empty() && steady_clock::now() < deadline) {
    std::vector<pollfd> watched;
    for (const int descriptor : host.descriptors()) watched.push_back({descriptor, POLLIN, 0});
    wait_for_any(watched, milliseconds(20));
    host.take_endings();
  }
}

double seconds_of(milliseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Service::Service(Channel& leader, Host& host, const CompleteStart& complete, const LeaderSilence& silence,
                 const Clock& clock)
    : leader_(leader),
      host_(host),
      complete_(complete),
      silence_(silence),
      clock_(clock),
      heard_(clock.steady_seconds()),
      reported_(heard_) {}

/// A start that cannot be is the end of each of its ranks, as far as the leader is concerned.
void Service::start_or_report(GroupStart start) {
  try {
    complete_(start);
    host_.start(start);
  } catch (const Error& error) {
    for (const auto& place : start.ranks) {
      RankEnding ending{.rank = place.rank,
                        .ranks = place.ranks,
                        .evidence = text("on ", host_.name(), ": ", error.message())};
      ending.ending.status = static_cast<int>(error.exit());
      leader_.send({{"ended", to_json(ending)}});
    }
  }
}

void Service::obey(const Json& message) {
  if (message.contains("start")) {
    start_or_report(group_start_from_json(message.at("start")));
  } else if (message.contains("send")) {
    const auto& order = message.at("send");
    host_.send(whole_number(order, "rank", 0, most_ranks), whole_number(order, "signal", 1, most_signal));
  } else if (message.contains("over")) {
    const auto& end = message.at("over");
    over_ = Dismissal{.status = whole_number(end, "status", 0, most_status),
                      .message = short_text(end, "message", longest_message)};
  }
}

void Service::report() {
  while (const int signal = host_.take_signal()) leader_.send({{"signal", signal}});
  for (const auto& ending : host_.take_endings()) leader_.send({{"ended", to_json(ending)}});
  const double now = clock_.steady_seconds();
  if (now - reported_ < seconds_of(report_interval)) return;
  Json statuses = Json::object(), states = Json::object();
  for (const auto& [rank, status] : host_.statuses()) {
    statuses[text(rank)] = to_json(status, /*with_collectives=*/true);
    states[text(rank)] = host_.process_state(rank);
  }
  Json message;
  message["statuses"] = std::move(statuses);
  message["states"] = std::move(states);
  leader_.send(message);
  reported_ = now;
}

void Service::lose_leader(const std::string& why) {
  end_ranks(host_);
  fail(Exit::rank_lost,
       text("the leader of the group was lost: ", why, "; the ranks of this host were ended"),
       "its console and its launcher.log say why; the run goes on from its newest checkpoint when it is "
       "started again");
}

std::optional<Dismissal> Service::step() {
  const auto messages = leader_.receive();
  if (!messages.empty()) heard_ = clock_.steady_seconds();
  try {
    for (const auto& message : messages) obey(message);
  } catch (const std::exception& error) {  // a number out of range, a key that is not there
    lose_leader(text("it sent something that is no message of larmor (", error.what(), ")"));
  }
  if (over_) {
    end_ranks(host_);
    return over_;
  }
  if (leader_.is_closed()) lose_leader(leader_.why_closed());
  const auto limit =
      seconds_of(host_.statuses().empty() ? silence_.between_starts : silence_.while_ranks_run);
  if (clock_.steady_seconds() - heard_ > limit)
    lose_leader(text("it has been silent for ", human_seconds(limit)));
  report();
  return std::nullopt;
}

Dismissal serve(Channel& leader, Host& host, const CompleteStart& complete, const LeaderSilence& silence) {
  Service service(leader, host, complete, silence);
  for (;;) {
    wait_for_something(leader, host, report_interval / 2);
    if (const auto over = service.step()) return *over;
  }
}

}  // namespace larmor

#include "larmor/launch/gathering.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int protocol = 1;
/// For a connection to say who it is, and to leave room for those that do.
constexpr milliseconds introduction_limit(5000);
constexpr size_t most_strangers = 256;
/// A person is told of clocks that differ by more; nothing depends on them.
constexpr double skew_worth_a_word = 60;

struct Stranger {
  Channel channel;
  steady_clock::time_point came;
};

/// "rank 3" in a rank's place, "agent 3" of ours.
std::string called(const Hello& one, int agent) {
  return text(one.local_index >= 0 ? "rank " : "agent ", agent);
}

std::string list_of_missing(const AgentPlace& place, const Hello& own, const std::map<int, Member>& members) {
  std::vector<std::string> missing;
  for (int agent = 1; agent < place.agents; ++agent) {
    if (!members.contains(agent)) missing.push_back(text(agent));
  }
  const std::string kind = own.local_index >= 0 ? "rank" : "agent";
  return text(kind, missing.size() == 1 ? " " : "s ", join(missing, ", "));
}

void refuse(Channel& channel, const std::string& why) {
  channel.send({{"refused", why}});
  channel.flush(std::chrono::seconds(1));
  channel.close(why);
}

void warn_of_skew(const Hello& own, const Hello& other) {
  const double skew = other.wall_seconds - own.wall_seconds;
  if (std::abs(skew) < skew_worth_a_word) return;
  log::warning(text("the clock of ", other.host, " is ", human_seconds(std::abs(skew)),
                    skew > 0 ? " ahead of" : " behind", " that of ", own.host,
                    "; nothing depends on it but the times in logs"));
}

/// The leader's side while agents are coming.
class Doorkeeper {
 public:
  Doorkeeper(const AgentPlace& place, Listener& door, const Hello& own)
      : place_(place), door_(door), own_(own) {}

  bool is_complete() const { return std::ssize(members_) == place_.agents - 1; }
  const std::map<int, Member>& members() const { return members_; }
  std::vector<Member> take() {
    std::vector<Member> all;
    for (auto& [agent, member] : members_) all.push_back(std::move(member));
    return all;
  }

  /// Those inside end with this status.
  void send_away(Exit exit, const std::string& why) {
    for (auto& [agent, member] : members_) member.host->dismiss(static_cast<int>(exit), why);
  }

  /// Blocks for at most `limit`.
  void serve(milliseconds limit) {
    std::vector<pollfd> watched = {{door_.descriptor(), POLLIN, 0}};
    for (const auto& stranger : strangers_) watched.push_back({stranger.channel.descriptor(), POLLIN, 0});
    poll(watched.data(), watched.size(), static_cast<int>(limit.count()));
    for (Descriptor next = door_.accept(); next.is_open(); next = door_.accept()) {
      if (strangers_.size() < most_strangers)
        strangers_.push_back({Channel(std::move(next)), steady_clock::now()});
    }
    for (auto& stranger : strangers_) hear(stranger);
    std::erase_if(strangers_, [](const Stranger& one) {
      return one.channel.is_closed() || steady_clock::now() - one.came > introduction_limit;
    });
    // Those that wait inside hear that we are alive; one that was ended there may come again.
    std::erase_if(members_, [this](auto& one) {
      auto& [agent, member] = one;
      member.host->beat();
      member.host->take_endings();
      if (member.host->is_lost())
        log::warning(text(called(own_, agent), " on ", member.hello.host, " is gone again; waiting for it"));
      return member.host->is_lost();
    });
  }

 private:
  void hear(Stranger& stranger) {
    const Json message = stranger.channel.receive_within(milliseconds(0));
    if (message.is_null()) return;
    if (!message.contains("hello")) return stranger.channel.close("it did not say who it is");
    Hello hello;
    try {
      hello = hello_from_json(message.at("hello"));
    } catch (const std::exception& error) {
      return refuse(stranger.channel, text("its greeting is not understood: ", error.what()));
    }
    if (const std::string why = disagreement(own_, hello); !why.empty()) {
      refuse(stranger.channel, why);
      send_away(Exit::usage, why);
      fail(Exit::usage, why, "start every agent with the same program, words and LARMOR_ variables");
    }
    if (members_.contains(hello.agent)) {
      return refuse(stranger.channel,
                    text(called(own_, hello.agent), " is there already, on ",
                         members_.at(hello.agent).hello.host, ": two were started with one number"));
    }
    warn_of_skew(own_, hello);
    stranger.channel.send({{"welcome", true}});
    auto host = std::make_unique<RemoteHost>(std::exchange(stranger.channel, Channel(Descriptor())),
                                             hello.host, place_.silence);
    members_.emplace(hello.agent, Member{std::move(hello), std::move(host)});
  }

  const AgentPlace& place_;
  Listener& door_;
  const Hello& own_;
  std::vector<Stranger> strangers_;
  std::map<int, Member> members_;
};

}  // namespace

Json to_json(const Hello& hello) {
  return {{"larmor", protocol},
          {"agent", hello.agent},
          {"agents", hello.agents},
          {"host", hello.host},
          {"machine", hello.machine},
          {"build", hello.build},
          {"local_index", hello.local_index},
          {"words", hello.words},
          {"hardware", hello.hardware},
          {"wall", hello.wall_seconds}};
}

Hello hello_from_json(const Json& json) {
  if (json.at("larmor").get<int>() != protocol)
    fail(Exit::usage, "it speaks another version of the agents' protocol");
  Hello hello;
  hello.agent = json.at("agent").get<int>();
  hello.agents = json.at("agents").get<int>();
  hello.host = json.at("host").get<std::string>();
  hello.machine = json.at("machine").get<std::string>();
  hello.build = json.at("build").get<std::string>();
  hello.local_index = json.at("local_index").get<int>();
  hello.words = json.at("words");
  hello.hardware = json.at("hardware");
  hello.wall_seconds = json.at("wall").get<double>();
  return hello;
}

std::string disagreement(const Hello& own, const Hello& other) {
  const std::string who = text(called(other, other.agent), " on ", other.host), leader = called(own, 0);
  if (other.agents != own.agents)
    return text(who, " counts ", other.agents, own.local_index >= 0 ? " ranks, " : " agents, ", leader,
                " on ", own.host, " ", own.agents);
  if (other.agent < 1 || other.agent >= own.agents)
    return text(who, " has a number that there is not: they go from 0 to ", own.agents - 1);
  if (other.build != own.build)
    return text(who, " is another build of larmor (", other.build, ") than ", leader, " (", own.build, ")");
  std::vector<std::string> keys;
  for (const auto& [key, value] : own.words.items()) keys.push_back(key);
  for (const auto& [key, value] : other.words.items()) {
    if (!own.words.contains(key)) keys.push_back(key);
  }
  for (const auto& key : keys) {
    const Json left = own.words.value(key, Json()), right = other.words.value(key, Json());
    if (left == right) continue;
    return text(who, " was given another configuration: ", key, " is ", right.dump(), " there and ",
                left.dump(), " for ", leader, " on ", own.host);
  }
  return "";
}

std::vector<Member> gather(const AgentPlace& place, Listener& door, const Hello& own) {
  Doorkeeper keeper(place, door, own);
  const auto start = steady_clock::now(), deadline = start + place.start_limit;
  constexpr milliseconds patience(10000);
  bool warned = false;
  while (!keeper.is_complete()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) {
      const auto missing = list_of_missing(place, own, keeper.members());
      const auto limit = human_seconds(std::chrono::duration<double>(place.start_limit).count());
      const std::string why = text("waited ", limit, " at ", place.master_address, ":", door.port(), " for ",
                                   missing, " of ", place.agents, ", which never came");
      keeper.send_away(Exit::environment, why);
      fail(Exit::environment, why,
           "the log of such an agent, or of the job that should have started it, says why; a firewall may "
           "close the port");
    }
    if (!warned && steady_clock::now() - start > patience) {
      warned = true;
      log::warning(
          text("still waiting for ", list_of_missing(place, own, keeper.members()), " of ", place.agents));
    }
    keeper.serve(std::min(left, milliseconds(500)));
  }
  return keeper.take();
}

Channel join_leader(const AgentPlace& place, const Hello& own) {
  const std::string who = text(called(own, place.agent), " on ", own.host);
  const std::string where = text(place.master_address, ":", place.master_port);
  Channel channel(connect_within(place.master_address, place.master_port, place.start_limit, who));
  Json message;
  message["hello"] = to_json(own);
  channel.send(message);
  const Json answer = channel.receive_within(std::min(place.start_limit, 2 * introduction_limit));
  if (answer.contains("welcome")) return channel;
  if (const auto refused = answer.find("refused"); refused != answer.end() && refused->is_string()) {
    fail(Exit::usage, refused->get<std::string>(),
         "start every agent with the same program, words and LARMOR_ variables");
  }
  fail(Exit::environment,
       text(who, " reached ", where, ", but no leader of a larmor run answers there",
            channel.is_closed() ? text(": ", channel.why_closed()) : ""),
       "another program listens at that port, or the leader is not this run's: set the master's port to a "
       "free one for all");
}

}  // namespace larmor

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

std::string list_of_missing(const AgentPlace& place, const std::map<int, Member>& members) {
  std::vector<std::string> missing;
  for (int agent = 1; agent < place.agents; ++agent) {
    if (!members.contains(agent)) missing.push_back(text(agent));
  }
  return text(missing.size() == 1 ? "agent " : "agents ", join(missing, ", "));
}

void refuse(Channel& channel, const std::string& why, Exit exit) {
  channel.send({{"refused", why}, {"exit", static_cast<int>(exit)}});
  channel.flush(std::chrono::seconds(1));
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
    // Those that wait inside hear that we are alive.
    for (auto& [agent, member] : members_) member.host->beat();
  }

 private:
  void hear(Stranger& stranger) {
    const Json message = stranger.channel.receive_within(milliseconds(0));
    if (message.is_null() || !message.contains("hello")) return;
    Hello hello;
    try {
      hello = hello_from_json(message.at("hello"));
    } catch (const std::exception& error) {
      return refuse(stranger.channel, text("its greeting is not understood: ", error.what()), Exit::usage);
    }
    if (const std::string why = disagreement(own_, hello); !why.empty()) {
      refuse(stranger.channel, why, Exit::usage);
      for (auto& [agent, member] : members_) member.host->dismiss(static_cast<int>(Exit::usage), why);
      fail(Exit::usage, why, "start every agent with the same program, words and LARMOR_ variables");
    }
    if (members_.contains(hello.agent)) {
      return refuse(stranger.channel,
                    text("agent ", hello.agent, " is there already, on ", members_.at(hello.agent).hello.host,
                         ": two were started with one number"),
                    Exit::usage);
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
  return {{"larmor", protocol},   {"agent", hello.agent},       {"agents", hello.agents},
          {"host", hello.host},   {"build", hello.build},       {"local_index", hello.local_index},
          {"words", hello.words}, {"hardware", hello.hardware}, {"wall", hello.wall_seconds}};
}

Hello hello_from_json(const Json& json) {
  if (json.at("larmor").get<int>() != protocol)
    fail(Exit::usage, "it speaks another version of the agents' protocol");
  Hello hello;
  hello.agent = json.at("agent").get<int>();
  hello.agents = json.at("agents").get<int>();
  hello.host = json.at("host").get<std::string>();
  hello.build = json.at("build").get<std::string>();
  hello.local_index = json.at("local_index").get<int>();
  hello.words = json.at("words");
  hello.hardware = json.at("hardware");
  hello.wall_seconds = json.at("wall").get<double>();
  return hello;
}

std::string disagreement(const Hello& own, const Hello& other) {
  const std::string who = text("agent ", other.agent, " on ", other.host);
  if (other.agents != own.agents)
    return text(who, " counts ", other.agents, " agents, agent 0 on ", own.host, " ", own.agents);
  if (other.agent < 1 || other.agent >= own.agents)
    return text(who, " has a number that there is not: they go from 0 to ", own.agents - 1);
  if (other.build != own.build)
    return text(who, " is another build of larmor (", other.build, ") than agent 0 (", own.build, ")");
  std::vector<std::string> keys;
  for (const auto& [key, value] : own.words.items()) keys.push_back(key);
  for (const auto& [key, value] : other.words.items()) {
    if (!own.words.contains(key)) keys.push_back(key);
  }
  for (const auto& key : keys) {
    const Json left = own.words.value(key, Json()), right = other.words.value(key, Json());
    if (left == right) continue;
    return text(who, " was given another configuration: ", key, " is ", right.dump(), " there and ",
                left.dump(), " for agent 0 on ", own.host);
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
      const auto missing = list_of_missing(place, keeper.members());
      const auto limit = human_seconds(std::chrono::duration<double>(place.start_limit).count());
      fail(Exit::environment,
           text("waited ", limit, " at ", place.master_address, ":", door.port(), " for ", missing, " of ",
                place.agents, ", which never came"),
           "the log of such an agent, or of the job that should have started it, says why; a firewall may "
           "close "
           "the port");
    }
    if (!warned && steady_clock::now() - start > patience) {
      warned = true;
      log::warning(
          text("still waiting for ", list_of_missing(place, keeper.members()), " of ", place.agents));
    }
    keeper.serve(std::min(left, milliseconds(500)));
  }
  return keeper.take();
}

Channel join_leader(const AgentPlace& place, const Hello& own) {
  const std::string who = text("agent ", place.agent, " on ", own.host);
  const std::string where = text(place.master_address, ":", place.master_port);
  Channel channel(connect_within(place.master_address, place.master_port, place.start_limit, who));
  Json message;
  message["hello"] = to_json(own);
  channel.send(message);
  const Json answer = channel.receive_within(std::min(place.start_limit, 2 * introduction_limit));
  if (answer.contains("welcome")) return channel;
  if (answer.contains("refused")) {
    const int exit = answer.value("exit", static_cast<int>(Exit::usage));
    fail(exit == static_cast<int>(Exit::usage) ? Exit::usage : Exit::environment,
         answer.at("refused").get<std::string>(),
         "start every agent with the same program, words and LARMOR_ variables");
  }
  fail(Exit::environment,
       text(who, " reached ", where, ", but no leader of a larmor run answers there",
            channel.is_closed() ? text(": ", channel.why_closed()) : ""),
       "another program listens at that port, or the leader is not this run's: set the master's port to a "
       "free "
       "one for all");
}

}  // namespace larmor

#include "larmor/launch/gathering.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/net/authenticating_listener.h"
#include "larmor/net/wire_number.h"

namespace larmor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int greeting_version = 2;
constexpr std::string_view purpose = "gathering";
/// For one who knows the key to say who it is.
constexpr milliseconds introduction_limit(5000);
/// How long a member looks for a leader that knows its key, from the moment when somebody answers at the
/// port.
constexpr milliseconds looking_limit(60'000);
/// A person is told of clocks that differ by more; nothing depends on them.
constexpr double skew_worth_a_word = 60;

/// It knows the key, and has not said who it is.
struct Newcomer {
  Channel channel;
  steady_clock::time_point came;
  bool is_inside = false;
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
class AgentAcceptor {
 public:
  AgentAcceptor(const AgentPlace& place, Listener& listener, const Hello& own, const RunKey& key)
      : place_(place), authenticating_(listener.descriptor(), key, purpose), own_(own) {}

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
    std::vector<pollfd> watched;
    authenticating_.watch(watched);
    for (const auto& newcomer : newcomers_) watched.push_back({newcomer.channel.descriptor(), POLLIN, 0});
    wait_for_any(watched, limit);
    for (auto& peer : authenticating_.serve())
      newcomers_.push_back({Channel(std::move(peer)), steady_clock::now()});
    for (auto& newcomer : newcomers_) hear(newcomer);
    std::erase_if(newcomers_, [](const Newcomer& one) {
      return one.is_inside || one.channel.is_closed() || steady_clock::now() - one.came > introduction_limit;
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
  void hear(Newcomer& newcomer) {
    const Json message = newcomer.channel.receive_within(milliseconds(0));
    if (message.is_null()) return;
    if (!message.contains("hello")) return newcomer.channel.close("it did not say who it is");
    Hello hello;
    try {
      hello = hello_from_json(message.at("hello"));
    } catch (const std::exception& error) {
      return refuse(newcomer.channel, text("its greeting is not understood: ", error.what()));
    }
    if (const std::string why = disagreement(own_, hello); !why.empty()) {
      refuse(newcomer.channel, why);
      send_away(Exit::usage, why);
      fail(Exit::usage, why, "start every agent with the same program, words and LARMOR_ variables");
    }
    if (members_.contains(hello.agent)) {
      return refuse(newcomer.channel,
                    text(called(own_, hello.agent), " is there already, on ",
                         members_.at(hello.agent).hello.host, ": two were started with one number"));
    }
    warn_of_skew(own_, hello);
    newcomer.channel.send({{"welcome", true}});
    newcomer.is_inside = true;
    auto host = std::make_unique<RemoteHost>(std::move(newcomer.channel), hello.host, place_.silence);
    const int agent = hello.agent;
    members_.emplace(agent, Member{std::move(hello), std::move(host)});
  }

  const AgentPlace& place_;
  AuthenticatingListener authenticating_;
  const Hello& own_;
  std::vector<Newcomer> newcomers_;
  std::map<int, Member> members_;
};

}  // namespace

Json to_json(const Hello& hello) {
  return {{"larmor", greeting_version},       {"agent", hello.agent},
          {"agents", hello.agents},           {"host", hello.host},
          {"machine", hello.machine},         {"build", hello.build},
          {"local_index", hello.local_index}, {"words", hello.words},
          {"hardware", hello.hardware},       {"wall", hello.wall_seconds}};
}

Hello hello_from_json(const Json& json) {
  if (json.at("larmor") != greeting_version)
    fail(Exit::usage, "it speaks another version of the agents' protocol");
  Hello hello;
  hello.agent = whole_number(json, "agent", 0, most_ranks);
  hello.agents = whole_number(json, "agents", 1, most_ranks);
  hello.host = short_text(json, "host");
  hello.machine = short_text(json, "machine");
  hello.build = short_text(json, "build");
  hello.local_index = whole_number(json, "local_index", -1, most_ranks);
  hello.words = json.at("words");
  hello.hardware = json.at("hardware");
  hello.wall_seconds = json.at("wall").get<double>();
  if (!(std::abs(hello.wall_seconds) < 1e12)) fail(Exit::usage, "its clock shows no time");
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

std::vector<Member> gather(const AgentPlace& place, Listener& listener, const Hello& own, const RunKey& key) {
  AgentAcceptor keeper(place, listener, own, key);
  const auto start = steady_clock::now(), deadline = start + place.start_limit;
  constexpr milliseconds patience(10000);
  bool warned = false;
  while (!keeper.is_complete()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left.count() <= 0) {
      const auto missing = list_of_missing(place, own, keeper.members());
      const auto limit = human_seconds(std::chrono::duration<double>(place.start_limit).count());
      const std::string why = text("waited ", limit, " at ", place.master_address, ":", listener.port(),
                                   " for ", missing, " of ", place.agents, ", which never came");
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

namespace {

/// The way in, while somebody may still open it.
class LeaderSearch {
 public:
  LeaderSearch(const AgentPlace& place, std::string who, const FindKey& find_key)
      : place_(place), who_(std::move(who)), find_key_(find_key) {}

  /// Throws Error (environment) when nobody who knows the key is found in time.
  Joined find() {
    auto socket = connect_within(place_.master_address, place_.master_port, place_.start_limit, who_);
    const auto deadline = steady_clock::now() + std::min(place_.start_limit, looking_limit);
    for (;;) {
      if (auto joined = try_leader(std::move(socket), deadline)) return std::move(*joined);
      if (steady_clock::now() >= deadline) give_up();
      std::this_thread::sleep_for(pause);
      std::string unreached;  // what was said before it is gone tells more
      socket = try_to_connect(place_.master_address, place_.master_port, longest_attempt, unreached);
    }
  }
  /// `why` goes behind a colon; "" for nothing.
  [[noreturn]] void refuse(const std::string& why) const {
    fail(
        Exit::environment,
        text(who_, " reached ", place_.master_address, ":", place_.master_port,
             ", but no leader of a larmor run answers there", why.empty() ? "" : ": ", why),
        "another program or another run listens at that port, or this host looks for the run's key elsewhere "
        "than the leader: the same run.folder on shared storage, master's address and port on all hosts, or "
        "the same key in LARMOR_RUN_KEY_FILE");
  }

 private:
  std::optional<Joined> try_leader(Descriptor socket, steady_clock::time_point deadline) {
    if (!socket.is_open()) return std::nullopt;
    try {
      const auto key = find_key_();
      const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
      std::string reason;
      auto peer = authenticate(std::move(socket), key, purpose, std::min(left, introduction_limit), reason);
      if (peer.socket.is_open()) return Joined{Channel(std::move(peer)), key};
      // An attempt that the deadline cuts short tells less than those before it.
      if (reason_.empty() || left > pause) reason_ = reason;
    } catch (const Error& error) {
      reason_ = error.message();
    }
    return std::nullopt;
  }
  [[noreturn]] void give_up() const { refuse(reason_); }

  static constexpr milliseconds pause{250}, longest_attempt{3000};
  const AgentPlace& place_;
  std::string who_;
  const FindKey& find_key_;
  std::string reason_;
};

}  // namespace

Joined join_leader(const AgentPlace& place, const Hello& own, const FindKey& find_key) {
  LeaderSearch seeker(place, text(called(own, place.agent), " on ", own.host), find_key);
  auto joined = seeker.find();
  Json message;
  message["hello"] = to_json(own);
  joined.leader.send(message);
  const Json answer = joined.leader.receive_within(std::min(place.start_limit, 2 * introduction_limit));
  if (answer.contains("welcome")) return joined;
  if (const auto refused = answer.find("refused"); refused != answer.end() && refused->is_string()) {
    fail(Exit::usage, refused->get<std::string>(),
         "start every agent with the same program, words and LARMOR_ variables");
  }
  seeker.refuse(joined.leader.why_closed());
}

}  // namespace larmor

#include "app/agent.h"

#include <charconv>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"
#include "larmor/comm/agent_store.h"
#include "larmor/config/units.h"
#include "larmor/device/device.h"

namespace larmor::app {

namespace {

constexpr int usual_port = 29500;  // torchrun's, which people's firewalls know

std::chrono::milliseconds time_from_environment(const char* name, std::chrono::milliseconds otherwise) {
  const auto environment = process_environment();
  const auto found = environment.find(name);
  if (found == environment.end()) return otherwise;
  const auto length = parse_length(found->second);
  if (length.unit != Length::Unit::seconds || length.amount <= 0) {
    fail(Exit::usage, text("the environment says ", name, "=", found->second, "; it must be a time"),
         "say 90s, 30min or 12h");
  }
  return std::chrono::milliseconds(static_cast<int64_t>(length.amount * 1000));
}

int count_of_nodes(const std::string& words) {
  int count = 0;
  const auto [end, problem] = std::from_chars(words.data(), words.data() + words.size(), count);
  if (problem != std::errc() || end != words.data() + words.size() || count < 1)
    fail(Exit::usage, text("--nnodes is ", words), "say how many hosts take part, or auto inside srun");
  return count;
}

AgentPlace place_by_step() {
  const auto found = find_nodes(process_environment());
  if (!found) {
    fail(Exit::usage, "--nnodes auto asks SLURM, and this process is in no step of it",
         "start it by srun --ntasks-per-node=1, or say --nnodes N --node-rank R --master-addr HOST");
  }
  AgentPlace place;
  place.agents = static_cast<int>(found->nodes);
  place.agent = static_cast<int>(found->node);
  place.master_address = found->master_address;
  place.master_port = found->master_port;
  return place;
}

AgentPlace place_by_flags(const AgentFlags& flags) {
  AgentPlace place;
  place.agents = count_of_nodes(flags.nodes);
  if (place.agents == 1) return place;
  if (!flags.node_rank || flags.master_address.empty()) {
    fail(Exit::usage,
         text("--nnodes ", place.agents, " needs ", flags.node_rank ? "" : "--node-rank R",
              flags.node_rank || !flags.master_address.empty() ? "" : " and ",
              flags.master_address.empty() ? "--master-addr HOST" : ""),
         "the same words on every host, but for --node-rank: 0 on the host that --master-addr names, then 1, "
         "2 …");
  }
  place.agent = *flags.node_rank;
  if (place.agent < 0 || place.agent >= place.agents) {
    fail(Exit::usage, text("--node-rank is ", place.agent, " of --nnodes ", place.agents),
         text("the hosts are numbered from 0 to ", place.agents - 1));
  }
  place.master_address = flags.master_address;
  place.master_port = flags.master_port.value_or(usual_port);
  return place;
}

void refuse_lone_flags(const AgentFlags& flags) {
  if (!flags.node_rank && flags.master_address.empty() && !flags.master_port) return;
  fail(Exit::usage, "--node-rank, --master-addr and --master-port are for several hosts",
       "say --nnodes N as well, or leave them out");
}

bool is_own_host_only(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

std::string key_of_door(const Rank& rank) { return text("larmor/door/", rank.generation); }

}  // namespace

std::chrono::milliseconds start_limit() {
  return time_from_environment("LARMOR_START_LIMIT", std::chrono::minutes(10));
}

Agent find_agent(const AgentFlags& flags, const std::optional<Rank>& given) {
  Agent agent;
  agent.given = given;
  agent.job = find_job(process_environment());
  if (given) {
    if (!flags.nodes.empty()) {
      fail(Exit::usage, text("--nnodes, but ", given->launcher, " has started each rank already"),
           "leave --nnodes out, or start one task a host: srun --ntasks-per-node=1");
    }
    refuse_lone_flags(flags);
    agent.place.agent = given->index;
    agent.place.agents = given->count;
    agent.place.master_address = given->master_address;
    agent.place.master_port = given->master_port;
  } else if (flags.nodes == "auto") {
    refuse_lone_flags(flags);
    agent.place = place_by_step();
  } else if (!flags.nodes.empty()) {
    agent.place = place_by_flags(flags);
  } else {
    refuse_lone_flags(flags);
  }
  agent.place.start_limit = start_limit();
  agent.place.silence = time_from_environment("LARMOR_SILENCE_LIMIT", agent.place.silence);
  return agent;
}

Hello introduce(const Agent& agent, Json words, Json hardware) {
  Hello hello;
  hello.agent = agent.place.agent;
  hello.agents = agent.place.agents;
  hello.host = host_name();
  if (agent.given) hello.local_index = agent.given->local_index;
  hello.build = build_description();
  hello.words = std::move(words);
  hello.hardware = std::move(hardware);
  hello.wall_seconds = SystemClock().wall_seconds();
  return hello;
}

Listener open_door(Agent& agent) {
  AgentPlace& place = agent.place;
  if (!agent.given || !agent.given->agent_hosts_store) return {place.master_address, place.master_port};
  AgentStore store(*agent.given, place.start_limit);
  place.master_address = store.local_address();
  if (agent.given->local_count < agent.given->count && is_own_host_only(place.master_address)) {
    fail(Exit::environment,
         text("rank 0 reaches the master '", agent.given->master_address, "' over loopback (",
              place.master_address, "), where ranks on other hosts cannot reach it"),
         "set MASTER_ADDR to an address that all hosts share");
  }
  Listener door(place.master_address, 0);
  place.master_port = door.port();
  store.set(key_of_door(*agent.given), text(place.master_address, " ", place.master_port));
  return door;
}

void find_door(Agent& agent) {
  if (!agent.given || !agent.given->agent_hosts_store) return;
  const AgentStore store(*agent.given, agent.place.start_limit);
  const auto words = split(store.get(key_of_door(*agent.given)), ' ');
  if (words.size() != 2) fail(Exit::environment, "torchrun's store holds another program's words");
  agent.place.master_address = words[0];
  agent.place.master_port = std::stoi(words[1]);
}

}  // namespace larmor::app

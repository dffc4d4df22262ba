#include "app/train/agent.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/comm/agent_store.h"
#include "larmor/config/units.h"
#include "larmor/device/device.h"
#include "larmor/hardware/hardware.h"
#include "larmor/launch/hosts/local_host.h"
#include "larmor/launch/member.h"
#include "larmor/launch/signal_pipe.h"
#include "larmor/net/key_file.h"
#include "larmor/net/socket.h"
#include "larmor/run/machine.h"

#include "app/program.h"
#include "app/say.h"
#include "app/train/gpu_watch.h"

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

std::string leader_port_key(const Agent& agent) {
  return text("larmor/leader_port/", agent.given->generation, "/", agent.stage);
}

/// Where the agents find their key: by what all of them were told alike.
KeyFile key_file_of(const Agent& agent, const std::optional<std::filesystem::path>& run_folder) {
  const auto environment = process_environment();
  const auto named = environment.find("LARMOR_RUN_KEY_FILE");
  if (named != environment.end()) return KeyFile::named(named->second);
  if (!run_folder) {
    fail(
        Exit::usage,
        text("launch with ", agent.place.agents, " agents needs a key, and LARMOR_RUN_KEY_FILE names none"),
        "(umask 077; openssl rand -hex 32 > larmor.key), and LARMOR_RUN_KEY_FILE=that file on every host: it "
        "shows the agents that they are of one start");
  }
  const auto& given = agent.given;
  return KeyFile::of_rendezvous(*run_folder, given ? given->master_address : agent.place.master_address,
                                given ? given->master_port : agent.place.master_port);
}

Hello introduce(const Agent& agent, Introduction introduction) {
  Hello hello;
  hello.agent = agent.place.agent;
  hello.agents = agent.place.agents;
  hello.host = host_name();
  // Of this start of the kernel: containers and namespaces of one host share it.
  hello.machine = std::string(trim(read_text("/proc/sys/kernel/random/boot_id")));
  if (agent.given) hello.local_index = agent.given->local_index;
  hello.build = program_build();
  hello.words = std::move(introduction.words);
  hello.hardware = std::move(introduction.hardware);
  hello.wall_seconds = SystemClock().wall_seconds();
  return hello;
}

/// Under torchrun, whose agent has the master's port, at another one.
struct LeaderListener {
  Listener listener;
  std::unique_ptr<AgentStore> torchruns;
};

LeaderListener listen_as_leader(Agent& agent) {
  AgentPlace& place = agent.place;
  if (!agent.given || !agent.given->agent_hosts_store) {
    return {Listener(place.master_address, place.master_port), nullptr};
  }
  auto store = std::make_unique<AgentStore>(*agent.given, place.start_limit);
  place.master_address = store->local_address();
  if (agent.given->local_count < agent.given->count && is_loopback(place.master_address)) {
    fail(Exit::environment,
         text("rank 0 reaches the master '", agent.given->master_address, "' over loopback (",
              place.master_address, "), where ranks on other hosts cannot reach it"),
         "set MASTER_ADDR to an address that all hosts share");
  }
  Listener listener(place.master_address, 0);
  place.master_port = listener.port();
  return {std::move(listener), std::move(store)};
}

/// The members connect as soon as they know the leader's port.
void announce(const Agent& agent, LeaderListener& listener) {
  if (!listener.torchruns) return;
  listener.torchruns->set(leader_port_key(agent),
                          text(agent.place.master_address, " ", agent.place.master_port));
}

/// Torchrun's store is open to everybody, so it yields only an address to try: whether our leader answers
/// there, the key decides.
void find_leader(Agent& agent) {
  if (!agent.given || !agent.given->agent_hosts_store) return;
  const AgentStore store(*agent.given, agent.place.start_limit);
  const auto words = split(store.get(leader_port_key(agent)), ' ');
  constexpr int most_port = 65535;
  int port = 0;
  if (words.size() == 2) {
    const auto [end, problem] = std::from_chars(words[1].data(), words[1].data() + words[1].size(), port);
    if (problem != std::errc() || end != words[1].data() + words[1].size()) port = 0;
  }
  if (port < 1 || port > most_port)
    fail(Exit::environment, "torchrun's store holds another program's words",
         "somebody else writes in it: give torchrun another port");
  agent.place.master_address = words[0];
  agent.place.master_port = port;
}

/// The leader's key lies where the others look for it until all have met, however that ends.
class PublishedKey {
 public:
  explicit PublishedKey(KeyFile file) : file_(std::move(file)), key_(file_.renew()) {}
  ~PublishedKey() { file_.remove(key_); }
  PublishedKey(const PublishedKey&) = delete;
  PublishedKey& operator=(const PublishedKey&) = delete;
  const RunKey& key() const { return key_; }

 private:
  KeyFile file_;
  RunKey key_;
};

/// What ranks that this agent starts are told beside what the leader says.
std::map<std::string, std::string> environment_of_ranks(const Agent& agent) {
  if (!agent.given || agent.given->visible_device < 0) return {};
  return {{"LARMOR_VISIBLE_DEVICE", text(agent.given->visible_device)}};
}

}  // namespace

std::chrono::milliseconds start_limit() {
  return time_from_environment("LARMOR_START_LIMIT", std::chrono::minutes(10));
}

void add_agent_flags(CLI::App& verb, AgentFlags& flags) {
  verb.add_option("--nnodes", flags.nodes, "hosts that take part, this command on each; auto: as srun says");
  verb.add_option("--node-rank", flags.node_rank, "which of them this is, from 0");
  verb.add_option("--master-addr", flags.master_address, "address of host 0 that the others can reach");
  verb.add_option("--master-port", flags.master_port, "its port (29500)")->check(CLI::Range(1, 65535));
  verb.add_option("--max-restarts", flags.max_restarts,
                  "starts after ranks were lost or hung (train: 3 that save; launch: 0)")
      ->check(at_least(0));
  verb.add_option("--min-ranks", flags.min_ranks, "go on with fewer ranks, down to so many")
      ->check(at_least(0));
}

std::optional<Rank> given_rank(const AgentFlags& flags) {
  auto rank = find_rank(process_environment());
  const bool by_scheduler = rank && rank->launcher != "larmor" && rank->launcher != "torchrun";
  return by_scheduler && !flags.nodes.empty() ? std::nullopt : rank;
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

Hardware hardware_of(const Fleet& fleet) {
  const auto agents = fleet.agents();
  std::map<std::string, int> on_machine;
  for (const auto& hello : agents) ++on_machine[hello.machine];
  std::vector<Hardware> all;
  for (const auto& hello : agents) {
    all.push_back(hello.hardware.is_null() ? detect_machine() : hardware_from_json(hello.hardware));
    auto& one = all.back();
    // Ranks' places are views of their host. Agents of ours are hosts of their own, with an equal share of
    // the machine where they are in namespaces of one.
    if (hello.local_index >= 0 || agents.size() == 1) continue;
    one.host = text(hello.host, " (", hello.agent, ")");
    const int share = on_machine[hello.machine];
    if (share == 1) continue;
    one.cpu_quota = std::max(1.0, static_cast<double>(one.usable_cores()) / share);
    one.memory_limit_bytes /= static_cast<uint64_t>(share);
    one.memory_available_bytes /= static_cast<uint64_t>(share);
    for (auto* const free : {&one.free_cores, &one.free_cores_now})
      if (*free) **free /= share;
  }
  return shared_hardware(all);
}

Fleet assemble(Agent& agent, Introduction introduction) {
  if (agent.is_alone()) return Fleet(agent.place, {}, {}, environment_of_ranks(agent));
  const auto file = key_file_of(agent, introduction.run_folder);
  auto listener = listen_as_leader(agent);
  // Renewed only by who holds the port: another run's key must not be taken from it.
  const PublishedKey published(file);
  announce(agent, listener);
  Hello own = introduce(agent, std::move(introduction));
  auto members = gather(agent.place, listener.listener, own, published.key());
  return Fleet(agent.place, std::move(own), std::move(members), environment_of_ranks(agent), published.key());
}

int follow(Agent& agent, Introduction introduction, const MakeCommand& make_command) {
  const auto file = key_file_of(agent, introduction.run_folder);
  find_leader(agent);
  auto [leader, key] =
      join_leader(agent.place, introduce(agent, std::move(introduction)), [&file] { return file.read(); });
  const auto complete = [&, &key = key](GroupStart& start) {
    auto command = make_command(start.terms);
    if (command.command_hash != start.command_hash) {
      fail(Exit::usage, text("the ranks of ", host_name(), " would run something else than the leader's"),
           "start every agent with the same program and words");
    }
    static_cast<RankCommand&>(start) = std::move(command);
    start.master_address = agent.place.master_address;
    start.store_key = store_key_of(key, start.store_nonce);
  };
  SignalPipe signals;
  LocalHost host(&signals, /*console=*/false, environment_of_ranks(agent));
  const GpuWatch gpus(detect_hardware().gpus);
  const Dismissal over =
      serve(leader, host, complete,
            {.while_ranks_run = agent.place.silence, .between_starts = agent.place.start_limit});
  if (over.status != 0 && !over.message.empty()) say(Lines().add_text("larmor: " + over.message));
  return over.status;
}

}  // namespace larmor::app

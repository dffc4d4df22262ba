#include "larmor/launch/fleet.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/process/process.h"
#include "larmor/base/process/readiness.h"
#include "larmor/base/text.h"
#include "larmor/launch/supervisor.h"
#include "larmor/net/socket.h"

namespace larmor {
namespace {

/// The plan's cores are those of the host that has least; another may number its own otherwise, and a
/// scheduler may have bound its task to others.
bool has_cores(const Hello& hello, const std::vector<int>& cores) {
  if (hello.hardware.is_null()) return true;
  const auto there = hello.hardware.at("cores").get<std::vector<int>>();
  return std::all_of(cores.begin(), cores.end(),
                     [&](int core) { return std::find(there.begin(), there.end(), core) != there.end(); });
}

/// One process whose threads those ranks are.
RankProcess as_one_process(const std::vector<RankProcess>& places) {
  RankProcess all = places.front();
  all.ranks = static_cast<int>(places.size());
  std::set<int> cores;
  const bool is_bound =
      std::none_of(places.begin(), places.end(), [](const auto& place) { return place.cores.empty(); });
  for (const auto& place : places) cores.insert(place.cores.begin(), place.cores.end());
  all.cores = is_bound ? std::vector(cores.begin(), cores.end()) : std::vector<int>();
  return all;
}

/// "rank 1 of 4 starts on node-b, cores 2 3".
std::string start_line(const RankProcess& place, int world_size, const std::string& host) {
  const int last = place.rank + place.ranks - 1;
  std::string cores;
  for (const int core : place.cores) cores += text(cores.empty() ? ", cores " : " ", core);
  if (last == place.rank) return text("rank ", last, " of ", world_size, " starts on ", host, cores);
  return text("ranks ", place.rank, " to ", last, " of ", world_size, " start on ", host,
              " as threads of one process", cores);
}

}  // namespace

Fleet::Fleet(const AgentPlace& place, Hello own, std::vector<Member> members,
             std::map<std::string, std::string> environment, const RunKey& key)
    : environment_(std::move(environment)),
      place_(place),
      key_(key),
      own_(std::move(own)),
      members_(std::move(members)) {
  own_.host = host_name();
}

LocalHost& Fleet::local(bool console) {
  if (!signals_) {
    signals_ = std::make_unique<SignalPipe>();
    local_ = std::make_unique<LocalHost>(signals_.get(), console, environment_);
  }
  return *local_;
}

std::vector<Hello> Fleet::agents() const {
  std::vector<Hello> all{own_};
  for (const auto& member : members_) {
    if (!member.host->is_lost()) all.push_back(member.hello);
  }
  return all;
}

std::string Fleet::host_of(size_t agent) const {
  const Hello& hello = hello_of(agent);
  if (!hello.machine.empty()) return hello.machine;
  // Agents of ours are hosts of their own, whatever these are called; those in ranks' places share theirs.
  return hello.local_index >= 0 ? hello.host : text(hello.host, " ", agent);
}

std::vector<std::string> Fleet::device_hosts(const Plan& plan) const {
  std::vector<std::string> hosts;
  std::map<std::string, int> ranks_at;  // by host and index there
  for (size_t agent = 0; agent <= members_.size(); ++agent) {
    const Hello& hello = hello_of(agent);
    std::string host = host_of(agent);
    if (plan.device == DeviceKind::cuda && hello.local_index >= 0) {
      // Of two containers of one machine each has a first rank.
      host += text(" ", ranks_at[text(host, " ", hello.local_index)]++);
    } else if (plan.device == DeviceKind::cuda && hello.hardware.contains("gpus")) {
      // They may each have GPUs of their own.
      for (const Json& gpu : hello.hardware.at("gpus")) host += text(" ", gpu.value("uuid", ""));
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

const Hello& Fleet::hello_of(size_t agent) const { return agent == 0 ? own_ : members_[agent - 1].hello; }

std::vector<RankProcess> Fleet::places(const Plan& plan) const {
  std::vector<size_t> there{0};
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].host->is_lost()) there.push_back(i + 1);
  }
  std::vector<RankProcess> all;
  const auto device_host = device_hosts(plan);
  std::map<std::string, size_t> ranks_of_host, ranks_of_device_host;
  for (const size_t agent : there) {
    const Hello& hello = hello_of(agent);
    // An agent in a rank's place starts that one.
    const size_t count = hello.local_index >= 0 ? 1 : (plan.ranks.size() + there.size() - 1) / there.size();
    for (size_t i = 0; i < count && all.size() < plan.ranks.size(); ++i) {
      const size_t place = ranks_of_host[host_of(agent)]++;
      const size_t local = ranks_of_device_host[device_host[agent]]++;
      if (plan.device == DeviceKind::cuda && local >= static_cast<size_t>(plan.local_size())) {
        fail(Exit::usage,
             text(hello.host, " was given more ranks than the plan has GPUs for on each host, ",
                  plan.local_size()),
             "start as many ranks on every host");
      }
      auto cores = plan.ranks[place % plan.ranks.size()].cores;
      all.push_back({.rank = static_cast<int>(all.size()),
                     .local_index = static_cast<int>(local),
                     .cores = has_cores(hello, cores) ? cores : std::vector<int>(),
                     .agent = agent});
    }
  }
  assert(all.size() == plan.ranks.size());
  return all;
}

std::vector<GroupStart> Fleet::starts(const Plan& plan, const LaunchOptions& options,
                                      const std::vector<RankProcess>& places) const {
  GroupStart common{options};
  common.generation = options.generation;
  common.world_size = plan.world_size();
  common.threads_per_rank = plan.threads_per_rank;
  common.terms = options.terms;
  // Where ranks have no store of ours, an agent keeps one that other programs understand.
  if (options.master_port == 0) common.store_nonce = RunKey::draw().hex().substr(0, 32);
  common.store_key = store_key_of(key_, common.store_nonce);
  std::vector<GroupStart> starts(members_.size() + 1, common);
  const auto device_host = device_hosts(plan);
  std::map<std::string, int> ranks_of_host;
  for (const RankProcess& place : places) {
    starts[place.agent].ranks.push_back(place);
    ++ranks_of_host[device_host[place.agent]];
  }
  for (size_t agent = 0; agent < starts.size(); ++agent)
    starts[agent].local_count = ranks_of_host[device_host[agent]];
  if (plan.in_one_process()) {
    assert(starts[0].ranks.size() == places.size());  // other plans are refused
    starts[0].ranks = {as_one_process(starts[0].ranks)};
  }
  return starts;
}

GroupEnding Fleet::run(const Plan& plan, const LaunchOptions& options) {
  assert(plan.world_size() > 0);
  DiskStorage().create_folders(options.log_folder);
  LauncherLog log(options.log_folder / "launcher.log");
  LocalHost& here = local(options.console);
  const auto placed = places(plan);
  auto groups = starts(plan, options, placed);
  const std::string address = options.master_address.empty() ? place_.master_address : options.master_address;
  // Ranks would find it out by waiting for one another.
  if (is_loopback(address) && groups[0].ranks.size() > 1) refuse_unreachable(address);
  const int port = options.master_port > 0 ? options.master_port : here.open_store(address);
  std::vector<Host*> hosts{&here};
  for (const auto& member : members_) hosts.push_back(member.host.get());
  for (size_t agent = 0; agent < groups.size(); ++agent) {
    auto& group = groups[agent];
    group.master_address = address;
    group.master_port = port;
    if (group.ranks.empty()) continue;
    for (const auto& place : group.ranks)
      log.line(start_line(place, plan.world_size(), hosts[agent]->name()));
    hosts[agent]->start(group);
  }
  std::vector<size_t> host_of_rank;
  for (const auto& place : placed) host_of_rank.push_back(place.agent);
  const auto hang_file = options.log_folder / text("hang-", options.generation, ".txt");
  Supervisor supervisor(hosts, host_of_rank, log,
                        {.grace_seconds = options.grace_seconds,
                         .asks_starting_ranks = options.asks_starting_ranks,
                         .hang = options.hang,
                         .hang_file = options.keeps_logs ? hang_file : std::filesystem::path()});
  GroupEnding ending = supervisor.run();
  log.line(text("generation ", options.generation, " ended with status ", ending.raw_status,
                ending.message.empty() ? "" : ": ", ending.message));
  return ending;
}

int Fleet::signal_within(double seconds) {
  if (!signals_) return 0;
  std::array<pollfd, 1> watched{{{signals_->descriptor(), POLLIN, 0}}};
  wait_for_any(watched, std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds)));
  return signals_->take();
}

void Fleet::dismiss(int status, const std::string& message) {
  for (auto& member : members_) {
    if (!member.host->is_lost()) member.host->dismiss(status, message);
  }
}

}  // namespace larmor

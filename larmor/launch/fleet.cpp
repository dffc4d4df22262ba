#include "larmor/launch/fleet.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include <poll.h>

#include "larmor/base/error.h"
#include "larmor/base/process.h"
#include "larmor/base/storage.h"
#include "larmor/base/text.h"
#include "larmor/launch/supervisor.h"

namespace larmor {

Fleet::Fleet(const AgentPlace& place, Hello own, std::vector<Member> members,
             std::map<std::string, std::string> environment)
    : environment_(std::move(environment)),
      place_(place),
      own_(std::move(own)),
      members_(std::move(members)) {
  own_.host = host_name();
}

LocalHost& Fleet::local(bool console) {
  if (!signals_) {
    signals_ = std::make_unique<SignalPipe>();
    local_ = std::make_unique<LocalHost>(*signals_, console, environment_);
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

std::vector<Fleet::Seat> Fleet::seats(const Plan& plan) const {
  std::vector<Seat> all;
  const auto offer = [&](size_t agent, const Hello& hello) {
    if (hello.local_index >= 0) {  // bound by the launcher that started it
      all.push_back({agent, {}});
      return;
    }
    for (int i = 0; i < plan.local_size(); ++i) {
      auto cores = plan.ranks[static_cast<size_t>(i) % plan.ranks.size()].cores;
      // The plan's cores are those of the host that has least; another may number its own otherwise.
      const bool has_them = agent == 0 || hello.hardware.is_null() || [&] {
        const auto there = hello.hardware.at("cores").get<std::vector<int>>();
        return std::all_of(cores.begin(), cores.end(), [&](int core) {
          return std::find(there.begin(), there.end(), core) != there.end();
        });
      }();
      all.push_back({agent, has_them ? std::move(cores) : std::vector<int>()});
    }
  };
  offer(0, own_);
  for (size_t i = 0; i < members_.size(); ++i) {
    if (!members_[i].host->is_lost()) offer(i + 1, members_[i].hello);
  }
  assert(all.size() >= plan.ranks.size());
  all.resize(plan.ranks.size());
  return all;
}

std::vector<GroupStart> Fleet::starts(const Plan& plan, const LaunchOptions& options,
                                      const std::vector<Seat>& seats) const {
  GroupStart common;
  common.generation = options.generation;
  common.world_size = plan.world_size();
  common.threads_per_rank = plan.threads_per_rank;
  common.program = options.program;
  common.arguments = options.arguments;
  common.environment = options.environment;
  common.log_folder = options.log_folder;
  std::vector<GroupStart> starts(members_.size() + 1, common);
  // Agents of ours are hosts of their own, whatever these are called; those in ranks' places share theirs.
  const auto host_of = [this](size_t agent) {
    const Hello& hello = agent == 0 ? own_ : members_[agent - 1].hello;
    return hello.local_index >= 0 ? hello.host : text(hello.host, " ", agent);
  };
  std::map<std::string, int> ranks_of_host;
  for (size_t rank = 0; rank < seats.size(); ++rank) {
    const size_t agent = seats[rank].agent;
    starts[agent].ranks.push_back({.rank = static_cast<int>(rank),
                                   .local_index = ranks_of_host[host_of(agent)]++,
                                   .cores = seats[rank].cores});
  }
  for (size_t agent = 0; agent < starts.size(); ++agent)
    starts[agent].local_count = ranks_of_host[host_of(agent)];
  return starts;
}

GroupEnding Fleet::run(const Plan& plan, const LaunchOptions& options) {
  assert(plan.world_size() > 0);
  DiskStorage().create_folders(options.log_folder);
  LauncherLog log(options.log_folder / "launcher.log");
  LocalHost& here = local(options.console);
  const auto seated = seats(plan);
  auto groups = starts(plan, options, seated);
  const std::string address = options.master_address.empty() ? place_.master_address : options.master_address;
  const int port = options.master_port > 0 ? options.master_port : here.open_store(address);
  std::vector<Host*> hosts{&here};
  for (const auto& member : members_) hosts.push_back(member.host.get());
  for (size_t agent = 0; agent < groups.size(); ++agent) {
    auto& group = groups[agent];
    group.master_address = address;
    group.master_port = port;
    if (group.ranks.empty()) continue;
    for (const auto& place : group.ranks) {
      std::string cores;
      for (const int core : place.cores) cores += text(cores.empty() ? ", cores " : " ", core);
      log.line(
          text("rank ", place.rank, " of ", plan.world_size(), " starts on ", hosts[agent]->name(), cores));
    }
    hosts[agent]->start(group);
  }
  std::vector<size_t> host_of_rank;
  for (const auto& seat : seated) host_of_rank.push_back(seat.agent);
  Supervisor supervisor(hosts, host_of_rank, log,
                        {.generation = options.generation,
                         .grace_seconds = options.grace_seconds,
                         .hang = options.hang,
                         .hang_file = options.log_folder / text("hang-", options.generation, ".txt")});
  GroupEnding ending = supervisor.run();
  log.line(text("generation ", options.generation, " ended with status ", ending.raw_status,
                ending.message.empty() ? "" : ": ", ending.message));
  return ending;
}

int Fleet::signal_within(double seconds) {
  if (!signals_) return 0;
  pollfd watched{signals_->descriptor(), POLLIN, 0};
  poll(&watched, 1, static_cast<int>(std::ceil(seconds * 1000)));
  return signals_->take();
}

void Fleet::dismiss(int status, const std::string& message) {
  for (auto& member : members_) {
    if (!member.host->is_lost()) member.host->dismiss(status, message);
  }
}

}  // namespace larmor

#include "tests/launch/support/simulated_job.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

SimulatedJob::SimulatedJob(const JobShape& shape, const PlantedMistakes& mistakes, double& now,
                           SimulatedStorage& storage, const std::filesystem::path& folder)
    : mistakes_(mistakes),
      now_(now),
      storage_(storage),
      log_(folder / "launcher.log"),
      policy_(shape.limits, storage.committed),
      due_(now) {
  plan_.global_batch = 24;
  plan_.micro_batch = 1;
  for (int rank = 0; rank < shape.machines * shape.ranks_each; ++rank) plan_.ranks.push_back({-1, {}});
  const LeaderSilence patience{
      .while_ranks_run = mistakes.members_wait_for_ever ? milliseconds(1'000'000) : shape.silence,
      .between_starts = shape.pause};
  for (int i = 0; i < shape.machines; ++i) {
    machines.push_back(std::make_unique<SimulatedMachine>(shape.first_machine + i, now));
    auto& machine = *machines.back();
    if (i == 0) continue;
    machine.wire = std::make_unique<SimulatedWire>();
    machine.remote = std::make_unique<RemoteHost>(leaders_end(machine.wire->take_leaders_end()),
                                                  machine.host.name(), shape.silence, machines[0]->clock);
    machine.leader = std::make_unique<Channel>(members_end(machine.wire->take_members_end()));
    machine.service =
        std::make_unique<Service>(*machine.leader, machine.host, complete_, patience, machine.clock);
  }
}

void SimulatedJob::step_leader(double preparing) {
  if (state_ == State::prepares && now_ >= due_) return start_group();
  if (state_ == State::waits) {
    if (const int signal = machines[0]->host.take_signal()) {
      GroupEnding ending;
      ending.exit = Exit::stopped;
      ending.raw_status = storage_.committed < 0 ? 128 + signal : static_cast<int>(Exit::stopped);
      return end_run(ending);
    }
    if (now_ < due_) return;
    state_ = State::prepares;
    due_ = now_ + preparing;
  }
  if (state_ != State::watches) return;
  supervisor_->step();
  if (supervisor_->is_over()) take_ending();
}

bool SimulatedJob::is_taken_over() {
  if (storage_.fence <= generation_ || mistakes_.leaders_go_on_regardless) return false;
  GroupEnding ending;
  ending.exit = Exit::rank_lost;
  ending.raw_status = static_cast<int>(Exit::rank_lost);
  ending.message = "another start has taken the run over";
  end_run(ending);
  return true;
}

void SimulatedJob::start_group() {
  if (generation_ >= 0 && is_taken_over()) return;
  if (generation_ < 0) began_ = now_;
  generation_ = ++storage_.fence;
  group_began_ = now_;
  std::vector<size_t> there{0};
  std::vector<Host*> hosts{&machines[0]->host};
  for (size_t i = 1; i < machines.size(); ++i) {
    if (!machines[i]->remote->is_lost()) there.push_back(i);
    hosts.push_back(machines[i]->remote.get());
  }
  agents_before_ = std::ssize(there);
  std::vector<GroupStart> starts(machines.size());
  std::vector<size_t> host_of_rank;
  const size_t of_each = (plan_.ranks.size() + there.size() - 1) / there.size();
  for (size_t rank = 0; rank < plan_.ranks.size(); ++rank) {
    host_of_rank.push_back(there[rank / of_each]);
    starts[host_of_rank.back()].ranks.push_back({.rank = static_cast<int>(rank), .cores = {}});
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].ranks.empty()) continue;
    starts[i].generation = generation_;
    starts[i].world_size = plan_.world_size();
    starts[i].local_count = static_cast<int>(starts[i].ranks.size());
    starts[i].terms = {.run = "run", .resume_step = storage_.committed};
    hosts[i]->start(starts[i]);
  }
  SupervisorOptions options;
  options.grace_seconds = 10;
  options.asks_starting_ranks = false;
  options.hang.fixed = 4;
  supervisor_ = std::make_unique<Supervisor>(hosts, host_of_rank, log_, options, machines[0]->clock);
  state_ = State::watches;
}

void SimulatedJob::take_ending() {
  if (is_taken_over()) return;
  int64_t left = 1;
  for (size_t i = 1; i < machines.size(); ++i) left += machines[i]->remote->is_lost() ? 0 : 1;
  const auto next = policy_.decide(supervisor_->ending(), {.plan = plan_,
                                                           .committed_step = storage_.committed,
                                                           .agents_before = agents_before_,
                                                           .agents_left = left});
  if (!next.again) return end_run(next.ending);
  if (!next.ranks.empty()) plan_.ranks.resize(std::stoul(next.ranks));
  if (next.smaller_micro_batches) plan_ = *next.smaller_micro_batches;
  state_ = State::waits;
  due_ = now_ + next.wait_seconds;
}

void SimulatedJob::end_run(const GroupEnding& ending) {
  ending_ = ending;
  state_ = State::over;
  for (size_t i = 1; i < machines.size(); ++i) {
    if (!machines[i]->remote->is_lost()) machines[i]->remote->dismiss(ending.raw_status, ending.message);
  }
}

void SimulatedJob::step_member(SimulatedMachine& machine) {
  if (!machine.outcome.empty()) return;
  try {
    if (const auto over = machine.service->step()) machine.outcome = text("dismissed with ", over->status);
  } catch (const Error& error) {
    machine.outcome = error.message();
  }
  if (!machine.outcome.empty()) machine.leader->close("its process has ended");
}

void SimulatedJob::end_agent(SimulatedMachine& machine, bool with_word) {
  machine.has_agent = false;
  machine.host.lose_all();
  machine.service.reset();
  if (machine.wire != nullptr) {
    if (with_word)
      machine.leader->close("its process has ended");
    else
      machine.wire->go_dead();
    return;
  }
  for (size_t i = 1; i < machines.size(); ++i) {
    if (with_word)
      machines[i]->remote.reset();
    else
      machines[i]->wire->go_dead();
  }
}

bool SimulatedJob::is_over() const {
  if (machines[0]->has_agent && state_ != State::over) return false;
  return std::ranges::all_of(machines, [&](const auto& machine) {
    const bool is_member = machine->wire != nullptr;
    return machine->host.ranks.empty() && (!is_member || !machine->has_agent || !machine->outcome.empty());
  });
}

}  // namespace larmor

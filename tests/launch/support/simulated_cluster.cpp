#include "tests/launch/support/simulated_cluster.h"

#include <algorithm>
#include <map>

#include <signal.h>

#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr double tick = 0.05, step_seconds = 0.2, start_seconds = 0.6, start_limit = 10;
constexpr milliseconds silence{2000}, pause_limit{20000};
constexpr double silence_seconds = 2, longest_latency = 0.5;  // of the slowest network
constexpr int64_t commit_every = 5;
/// After the last fault; three starts that commit nothing may each need a hang to be seen.
constexpr double most_seconds = 400;

}  // namespace

SimulatedCluster::SimulatedCluster(unsigned seed, const std::filesystem::path& folder,
                                   const PlantedMistakes& mistakes)
    : random_(seed), mistakes_(mistakes), folder_(folder) {
  add_job();
  const int count = draw(8);
  for (int i = 0; i < count; ++i) faults_.push_back(now_ + draw_seconds(0, 25));
  std::ranges::sort(faults_);
}

void SimulatedCluster::add_job() {
  const JobShape shape{.first_machine = static_cast<int>(all_machines().size()),
                       .machines = 1 + draw(4),
                       .ranks_each = 1 + draw(2),
                       .limits = {.most_restarts = 1 + draw(6), .least_ranks = draw(2)},
                       .silence = silence,
                       .pause = pause_limit};
  jobs_.push_back(std::make_unique<SimulatedJob>(shape, mistakes_, now_, storage_, folder_));
}

std::vector<SimulatedMachine*> SimulatedCluster::all_machines() const {
  std::vector<SimulatedMachine*> all;
  for (const auto& job : jobs_) {
    for (const auto& machine : job->machines) all.push_back(machine.get());
  }
  return all;
}

PlayedRun SimulatedCluster::play() {
  const double end = most_seconds + (faults_.empty() ? 0 : faults_.back());
  while (!is_over() && now_ < end) {
    now_ += tick;
    std::erase_if(cuts_, [&](const Cut& cut) { return cut.until <= now_; });
    strike();
    requeue();
    for (const auto& job : jobs_) {
      auto& machines = job->machines;
      const double latency = now_ < slow_until_ ? longest_latency : 0.001 * (1 + draw(20));
      for (size_t i = 1; i < machines.size(); ++i)
        machines[i]->wire->carry(now_, latency, is_cut(*machines[0], *machines[i]));
      if (machines[0]->has_agent && !is_frozen(*machines[0])) job->step_leader(draw_seconds(0, 3));
      for (size_t i = 1; i < machines.size(); ++i) {
        if (machines[i]->has_agent && !is_frozen(*machines[i])) job->step_member(*machines[i]);
      }
    }
    step_ranks();
    look_for_broken_promises();
  }
  promise(is_over(), "nobody waits for ever");
  result_.ending = jobs_.back()->ending();
  result_.leader_lives = jobs_.back()->machines[0]->has_agent;
  result_.jobs = jobs_.size();
  result_.committed = storage_.committed;
  result_.seconds = now_;
  return result_;
}

bool SimulatedCluster::is_over() const {
  return requeue_at_ == 0 && std::ranges::all_of(jobs_, [](const auto& job) { return job->is_over(); });
}

void SimulatedCluster::promise(bool kept, const std::string& what) {
  if (!kept) result_.broken.push_back(text(fixed(now_, 2), " s: ", what));
}

// Faults
// -----------------------------------------------------------------------------------------------------

void SimulatedCluster::note(const std::string& what) {
  result_.struck.push_back(text(fixed(now_, 2), " s: ", what));
}

bool SimulatedCluster::is_cut(const SimulatedMachine& one, const SimulatedMachine& other) const {
  return std::ranges::any_of(cuts_, [&](const Cut& cut) {
    return cut.machines.contains(one.id) != cut.machines.contains(other.id);
  });
}

void SimulatedCluster::strike_machine(SimulatedJob& job, SimulatedMachine& machine) {
  const auto& name = machine.host.name();
  const bool leads = machine.wire == nullptr;
  switch (draw(7)) {
    case 0:
      cuts_.push_back({{machine.id}, now_ + draw_seconds(0.3, 12)});
      note(text("cuts ", name, " off, until ", fixed(cuts_.back().until, 2)));
      break;
    case 1:
      machine.frozen_until = now_ + draw_seconds(0.5, 10);
      note(text("freezes ", name, ", until ", fixed(machine.frozen_until, 2)));
      break;
    case 2:
    case 3: {
      const bool with_word = draw(2) == 0;
      job.end_agent(machine, with_word);
      note(text("ends ", with_word ? "the agent" : "the power", " of ", name));
      break;
    }
    case 4:
      if (!leads) machine.wire->reset();
      note(text("resets the connection of ", name));
      return;
    case 5:
      for (auto& each : job.machines) {
        if (draw(2) == 0) each->host.be_signalled(SIGTERM);
      }
      note(text("signals machines of the job of ", name));
      return;
    default:
      machine.clock.offset += draw(2) == 0 ? 3600 : -3600;
      slow_until_ = now_ + draw_seconds(0.5, 5);
      note(text("sets the clock of ", name, ", in a slow network"));
      return;
  }
  if (leads && requeue_at_ == 0 && draw(2) == 0) requeue_at_ = now_ + draw_seconds(0.5, 6);
}

void SimulatedCluster::requeue() {
  if (requeue_at_ == 0 || now_ < requeue_at_) return;
  requeue_at_ = 0;
  // A job that has ended for good is not started again.
  if (jobs_.size() > 2 || jobs_.back()->leader_is_done()) return;
  add_job();
  note("starts the run again");
}

void SimulatedCluster::strike_rank() {
  std::vector<std::pair<SimulatedHost*, int>> running;
  for (auto* const machine : all_machines()) {
    for (const auto& [number, rank] : machine->host.ranks) running.emplace_back(&machine->host, number);
  }
  if (running.empty()) return;
  const auto [host, number] = running[static_cast<size_t>(draw(static_cast<int>(running.size())))];
  const auto how = draw(6);
  if (how == 0) host->ranks.at(number).stands_still = true;
  if (how == 1) host->exit(number, static_cast<int>(Exit::memory));
  if (how == 2) host->exit(number, static_cast<int>(Exit::data));
  if (how >= 3) host->die(number, SIGSEGV);
  note(text(how == 0   ? "stops"
            : how == 1 ? "takes the memory of"
            : how == 2 ? "spoils the data of"
                       : "kills",
            " rank ", number, " on ", host->name()));
}

void SimulatedCluster::strike() {
  while (!faults_.empty() && faults_.front() <= now_) {
    faults_.erase(faults_.begin());
    auto& job = *jobs_[static_cast<size_t>(draw(static_cast<int>(jobs_.size())))];
    auto& machine = *job.machines[static_cast<size_t>(draw(static_cast<int>(job.machines.size())))];
    if (draw(2) == 0)
      strike_rank();
    else if (machine.has_agent)
      strike_machine(job, machine);
  }
}

// Ranks
// ------------------------------------------------------------------------------------------------------

void SimulatedCluster::step_ranks() {
  std::map<int64_t, Group> groups;
  for (auto* const machine : all_machines()) {
    for (auto& [number, rank] : machine->host.ranks) {
      auto& group = groups[rank.generation];
      group.resize(std::max(group.size(), static_cast<size_t>(rank.world)));
      group[static_cast<size_t>(number)] = {machine, &rank, number};
    }
  }
  for (const auto& [generation, group] : groups) {
    const bool starts = std::ranges::any_of(
        group, [](const Seat& seat) { return seat.rank != nullptr && seat.rank->phase == Phase::starting; });
    if (starts)
      meet(group);
    else
      train(group);
  }
}

/// All run, and reach one another.
bool SimulatedCluster::can_meet(const Group& group) const {
  return std::ranges::all_of(group, [&](const Seat& seat) {
    return seat.rank != nullptr && !seat.rank->stands_still && !is_frozen(*seat.machine) &&
           std::ranges::none_of(group, [&](const Seat& other) {
             return other.machine != nullptr && is_cut(*seat.machine, *other.machine);
           });
  });
}

void SimulatedCluster::meet(const Group& group) {
  const bool all_are_ready = can_meet(group) && std::ranges::all_of(group, [&](const Seat& seat) {
                               return now_ - seat.rank->began > start_seconds;
                             });
  for (const auto& seat : group) {
    if (seat.rank == nullptr || seat.rank->stands_still || is_frozen(*seat.machine)) continue;
    seat.rank->heard = now_;
    if (all_are_ready)
      seat.rank->phase = Phase::computing;
    else if (now_ - seat.rank->began > start_limit)
      seat.exit(static_cast<int>(Exit::environment));
  }
}

void SimulatedCluster::train(const Group& group) {
  if (!can_meet(group)) return wait_for_others(group);
  for (const auto& seat : group) {
    seat.rank->heard = now_;
    seat.rank->blocked = 0;
  }
  if (static_cast<int64_t>(now_ / step_seconds) > static_cast<int64_t>((now_ - tick) / step_seconds))
    take_step(group);
}

void SimulatedCluster::take_step(const Group& group) {
  const int64_t generation = group[0].rank->generation, step = group[0].rank->step + 1;
  const bool stops = std::ranges::any_of(group, [](const Seat& seat) { return seat.rank->is_asked_to_stop; });
  for (const auto& seat : group) seat.rank->step = step;
  const bool saves = step % commit_every == 0 || stops || step == length;
  const bool is_fenced_off = saves && !commit(generation, step);
  if (!is_fenced_off && !stops && step < length) return;
  const auto status = is_fenced_off ? Exit::rank_lost : step == length ? Exit::done : Exit::stopped;
  for (const auto& seat : group) seat.exit(static_cast<int>(status));
}

bool SimulatedCluster::commit(int64_t generation, int64_t step) {
  if (storage_.fence > generation && !mistakes_.storage_has_no_fence) return false;
  promise(generation >= storage_.committed_generation && step > storage_.committed,
          text("no step is saved by two groups (", step, " of ", generation, ")"));
  storage_.committed = std::max(storage_.committed, step);
  storage_.committed_generation = std::max(storage_.committed_generation, generation);
  return true;
}

/// A rank hears of a peer that has ended where its machine can still say so.
void SimulatedCluster::wait_for_others(const Group& group) {
  const auto all = all_machines();
  for (const auto& seat : group) {
    if (seat.rank == nullptr || seat.rank->stands_still || is_frozen(*seat.machine)) continue;
    seat.rank->heard = now_;
    if (seat.rank->blocked == 0) seat.rank->blocked = now_;
    const bool has_lost_one =
        std::ranges::any_of(group, [](const Seat& other) { return other.rank == nullptr; });
    const bool hears_all = std::ranges::all_of(all, [&](const auto* machine) {
      return machine->has_agent && !is_frozen(*machine) && !is_cut(*seat.machine, *machine);
    });
    if (has_lost_one && hears_all && now_ - seat.rank->blocked > 2 * tick)
      seat.exit(static_cast<int>(Exit::rank_lost));
  }
}

// Promises
// ---------------------------------------------------------------------------------------------------

void SimulatedCluster::look_for_broken_promises() {
  int64_t newest = -1;
  double began = 0;
  for (const auto& job : jobs_) {
    if (job->generation() <= newest) continue;
    newest = job->generation();
    began = job->group_began();
  }
  for (size_t i = 1; i < jobs_.size(); ++i) {
    const double later = jobs_[i]->began();
    promise(later == 0 || jobs_[i - 1]->group_began() <= later, "a job starts nothing once a later one has");
  }
  std::map<std::pair<int64_t, int>, int> seen;
  for (auto* const machine : all_machines()) {
    promise(machine->host.started_twice == 0, "no rank is started where it runs");
    promise(machine->outcome.empty() || machine->host.ranks.empty(), "no agent leaves ranks behind");
    machine->host.started_twice = 0;
    for (const auto& [number, rank] : machine->host.ranks) {
      promise(++seen[{rank.generation, number}] == 1, text("nobody is two (rank ", number, ")"));
      const bool trains =
          rank.phase != Phase::starting && !rank.stands_still && rank.blocked == 0 && !is_frozen(*machine);
      if (rank.generation >= newest || !trains) continue;
      // A save shows it the fence, and silence its agent that it is alone.
      const double since = std::max({began, machine->frozen_until, rank.began + start_limit, rank.woke});
      constexpr double most = 2 * silence_seconds + commit_every * step_seconds + longest_latency + 4 * tick;
      promise(now_ - since < most,
              text("nobody trains on beside a later start (rank ", number, " of ", rank.generation, ")"));
    }
  }
}

}  // namespace larmor

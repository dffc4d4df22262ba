#include "larmor/train/snapshot.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/parallel/state_ranges.h"
#include "larmor/run/earlier/checkpoint_weights.h"

namespace larmor {

namespace {

// The optimizer's state of one objective as all ranks have saved it, and the averages of its weights: each
// rank reads of it what it needs.
StoredTensors stored_state(const CheckpointEntry& entry, const std::string& objective,
                           const std::string* average_file_name) {
  const std::string prefix = objective + "/";
  StoredTensors all;
  const auto files = checkpoint_files(entry);
  for (int64_t rank = 0; rank < entry.world_size; ++rank) {
    const auto file = text("optimizer-", rank, ".safetensors");
    if (!files.contains(file)) continue;
    for (auto& [name, tensor] : open_tensors(entry.folder / file)) {
      if (name.starts_with(prefix)) all.emplace(name.substr(prefix.size()), tensor);
    }
  }
  if (average_file_name == nullptr) return all;
  for (auto& [name, tensor] : open_tensors(entry.folder / *average_file_name))
    all.emplace("ema/" + name, tensor);
  return all;
}

void check_replicas_of(const Learner& learner, bool is_one_of_several) {
  try {
    learner.parallel->check_replicas();
  } catch (const Error& error) {
    throw is_one_of_several ? error.within(learner.objective.name) : error;
  }
}

}  // namespace

Snapshot take_snapshot(const Task& task, const std::vector<Learner>& learners, const TrainerState& state,
                       int rank) {
  Snapshot snapshot;
  snapshot.step = state.progress.step;
  snapshot.examples = state.progress.examples;
  NamedTensors optimizer;
  Json objectives = Json::object();
  for (size_t i = 0; i < learners.size(); ++i) {
    const auto& [objective, optim, schedule_steps, parallel] = learners[i];
    check_replicas_of(learners[i], learners.size() > 1);
    PartWriter part;
    parallel->save(part);
    for (const auto& [name, tensor] : part.tensors) optimizer[objective.name + "/" + name] = tensor;
    objectives[objective.name] = part.values;
    // Every rank takes part in bringing them together; only the first one has them then.
    NamedTensors weights = parallel->weights(), average;
    if (parallel->has_average()) average = parallel->average();
    if (rank != 0) continue;
    snapshot.files[weights_file(objective.name, i == 0)] = std::move(weights);
    if (parallel->has_average()) snapshot.files[averages_file(objective.name, i == 0)] = std::move(average);
  }
  if (!optimizer.empty()) snapshot.files[text("optimizer-", rank, ".safetensors")] = optimizer;
  PartWriter own;
  task.save(own);
  if (rank == 0 && !own.tensors.empty()) snapshot.files["task.safetensors"] = own.tensors;
  snapshot.state["trainer"] = to_json(state);
  snapshot.state["objectives"] = objectives;
  snapshot.state["task"] = own.values;
  return snapshot;
}

TrainerState restore(const CheckpointEntry& entry, Task& task, std::vector<Learner>& learners) {
  require_undamaged(entry);
  for (size_t i = 0; i < learners.size(); ++i) {
    const auto file = weights_file(learners[i].objective.name, i == 0);
    learners[i].parallel->load_weights(read_checkpoint_file(entry, file));
  }
  restore_optimizers(entry, learners);
  restore_task(entry, task, /*of_average=*/false);
  return trainer_state_from_json(read_checkpoint_state(entry).at("trainer"));
}

void restore_optimizers(const CheckpointEntry& entry, std::vector<Learner>& learners) {
  const auto state = read_checkpoint_state(entry).at("objectives");
  for (size_t i = 0; i < learners.size(); ++i) {
    const auto& name = learners[i].objective.name;
    auto averages = averages_file(name, i == 0);
    if (!has_checkpoint_file(entry, averages)) averages = weights_file(name, i == 0);
    learners[i].parallel->load(
        RangedState(stored_state(entry, name, learners[i].parallel->has_average() ? &averages : nullptr),
                    state.at(name), text(entry.folder.string(), ", objective ", name)));
  }
}

}  // namespace larmor

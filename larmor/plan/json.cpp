// plan.json: what `larmor plan --json` prints and a run folder keeps.
#include "larmor/base/json.h"

#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/json_member.h"
#include "larmor/plan/plan.h"

namespace larmor {
namespace {

constexpr int64_t format = 1;
constexpr const char* place = "plan.json";

Json to_json(const MemoryEstimate& memory) {
  Json json{{"weights", memory.weights},     {"gradients", memory.gradients},
            {"optimizer", memory.optimizer}, {"activations", memory.activations},
            {"batch", memory.batch},         {"total", memory.total()},
            {"available", memory.available}, {"measured", memory.measured},
            {"predicted", memory.predicted}, {"offloaded", memory.offloaded}};
  if (memory.validation > 0) json["validation"] = memory.validation;
  if (memory.graphs > 0) json["graphs"] = memory.graphs;
  return json;
}

MemoryEstimate memory_from_json(const Json& json) {
  const JsonMembers members(json, text(place, ": memory"));
  MemoryEstimate memory;
  members.read("weights", memory.weights);
  members.read("gradients", memory.gradients);
  members.read("optimizer", memory.optimizer);
  members.read("activations", memory.activations);
  members.read("batch", memory.batch);
  members.read("available", memory.available);
  members.read_if_present("measured", memory.measured);
  members.read_if_present("predicted", memory.predicted);
  members.read_if_present("offloaded", memory.offloaded);
  members.read_if_present("validation", memory.validation);
  members.read_if_present("graphs", memory.graphs);
  return memory;
}

/// The enumerator among `all` whose word stands under `key`.
template <class Enum>
Enum word_from_json(const JsonMembers& members, const char* key, const std::vector<Enum>& all) {
  std::string word;
  members.read(key, word);
  std::vector<std::string> words;
  for (const Enum one : all) {
    if (to_text(one) == word) return one;
    words.push_back(to_text(one));
  }
  fail(Exit::usage, text(place, ": ", key, " is \"", word, "\""), text("one of: ", join(words, " ")));
}

std::vector<RankSeat> ranks_from_json(const Json& json) {
  if (!json.is_array()) fail(Exit::usage, text(place, ": ranks must be a list, found ", json.type_name()));
  std::vector<RankSeat> ranks;
  for (const Json& entry : json) {
    const JsonMembers members(entry, text(place, ": ranks[", ranks.size(), "]"));
    size_t rank = 0;
    members.read("rank", rank);
    if (rank != ranks.size()) {
      fail(Exit::usage, text(place, ": ranks[", ranks.size(), "] calls itself rank ", rank));
    }
    RankSeat seat;
    members.read("device", seat.device);
    members.read("cores", seat.cores);
    ranks.push_back(seat);
  }
  return ranks;
}

/// A plan edited by hand must still be one that can be carried out.
void check(const Plan& plan) {
  const int64_t ranks = plan.world_size();
  if (ranks < 1) fail(Exit::usage, text(place, ": ranks is empty"));
  if (plan.hosts < 1 || plan.hosts > ranks)
    fail(Exit::usage, text(place, ": ", ranks, " ranks cannot be on ", plan.hosts, " hosts"));
  for (const int64_t count : {plan.micro_batch, plan.accumulation, plan.global_batch,
                              int64_t{plan.threads_per_rank}, int64_t{plan.prefetch}}) {
    if (count < 1) fail(Exit::usage, text(place, ": a batch, thread or prefetch count is ", count));
  }
  // Divided instead of multiplied: the three may be anything up to 2^63.
  const bool agrees = plan.global_batch % ranks == 0 && plan.global_batch / ranks % plan.micro_batch == 0 &&
                      plan.global_batch / ranks / plan.micro_batch == plan.accumulation;
  if (agrees) return;
  fail(Exit::usage, text(place, ": micro_batch ", plan.micro_batch, " × accumulation ", plan.accumulation,
                         " × ", ranks, " ranks is not global_batch ", plan.global_batch));
}

std::map<std::string, std::string> environment_from_json(const Json& json) {
  std::map<std::string, std::string> environment;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_string()) fail(Exit::usage, text(place, ": environment.", name, " is no text"));
    environment[name] = value.get<std::string>();
  }
  return environment;
}

}  // namespace

Json to_json(const Plan& plan) {
  Json json = {{"format", format},
               {"device", to_text(plan.device)},
               {"ranks", Json::array()},
               {"micro_batch", plan.micro_batch},
               {"accumulation", plan.accumulation},
               {"global_batch", plan.global_batch},
               {"precision", to_text(plan.precision)},
               {"layout", to_text(plan.layout)},
               {"strategy", to_text(plan.strategy)},
               {"activation_checkpointing", to_text(plan.recompute)},
               {"offload_optimizer", plan.offload_optimizer},
               {"sync_batch_norm", plan.sync_batch_norm},
               {"whole_micro_batch", plan.whole_micro_batch},
               {"compression", to_text(plan.compression)},
               {"exchange_every_micro_batch", plan.exchange_every_micro_batch},
               {"graphs", plan.graphs},
               {"deterministic", plan.deterministic},
               {"loader_threads", plan.loader_threads},
               {"prefetch", plan.prefetch},
               {"threads_per_rank", plan.threads_per_rank},
               {"bucket_bytes", plan.bucket_bytes},
               {"memory", to_json(plan.memory)},
               {"idle_devices", plan.idle_devices},
               {"reasons", plan.reasons}};
  for (size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const RankSeat& at = plan.ranks[rank];
    json["ranks"].push_back({{"rank", rank}, {"device", at.device}, {"cores", at.cores}});
  }
  if (plan.hosts > 1) json["hosts"] = plan.hosts;
  if (!plan.environment.empty()) json["environment"] = plan.environment;
  return json;
}

Plan plan_from_json(const Json& json) {
  const JsonMembers members(json, place);
  int64_t version = 0;
  members.read("format", version);
  if (version != format)
    fail(Exit::usage, text(place, ": format ", version, " is not known; this is ", format));
  Plan plan;
  plan.device = word_from_json<DeviceKind>(members, "device", {DeviceKind::cpu, DeviceKind::cuda});
  plan.ranks = ranks_from_json(members.at("ranks"));
  members.read_if_present("hosts", plan.hosts);
  if (json.contains("environment")) plan.environment = environment_from_json(members.at("environment"));
  members.read("micro_batch", plan.micro_batch);
  members.read("accumulation", plan.accumulation);
  members.read("global_batch", plan.global_batch);
  plan.precision = word_from_json<Precision>(
      members, "precision", {Precision::fp32, Precision::bf16, Precision::fp16, Precision::fp64});
  plan.strategy = word_from_json<Strategy>(
      members, "strategy",
      {Strategy::single, Strategy::dp, Strategy::ddp, Strategy::zero1, Strategy::zero2, Strategy::zero3});
  // A checkpoint of an earlier version has none of these: what they say by default is what it did.
  if (json.contains("activation_checkpointing")) {
    plan.recompute = word_from_json<Recompute>(members, "activation_checkpointing",
                                               {Recompute::none, Recompute::blocks, Recompute::all});
    plan.compression = word_from_json<Compression>(members, "compression",
                                                   {Compression::none, Compression::fp16, Compression::bf16});
    members.read("offload_optimizer", plan.offload_optimizer);
    members.read("sync_batch_norm", plan.sync_batch_norm);
    members.read_if_present("whole_micro_batch", plan.whole_micro_batch);
    members.read_if_present("graphs", plan.graphs);
    members.read("exchange_every_micro_batch", plan.exchange_every_micro_batch);
  }
  if (json.contains("layout"))
    plan.layout = word_from_json<Layout>(members, "layout", {Layout::contiguous, Layout::channels_last});
  members.read("deterministic", plan.deterministic);
  members.read("loader_threads", plan.loader_threads);
  members.read("prefetch", plan.prefetch);
  members.read("threads_per_rank", plan.threads_per_rank);
  members.read("bucket_bytes", plan.bucket_bytes);
  plan.memory = memory_from_json(members.at("memory"));
  members.read("idle_devices", plan.idle_devices);
  members.read("reasons", plan.reasons);
  check(plan);
  return plan;
}

}  // namespace larmor

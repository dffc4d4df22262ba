#include "larmor/run/room.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/disk_room.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/run/timetable.h"
#include "larmor/task/prepare_context.h"

namespace larmor {

namespace {

/// How often a run saves, its end included; nothing where that depends on its speed.
std::optional<int64_t> saves_of(const RunConfig& config, const Demand& demand, const Plan& plan) {
  const auto examples = static_cast<double>(demand.training_examples);
  const Timetable timetable(config.train, demand.training_examples, plan.global_batch);
  const auto& every = config.checkpoint.every;
  if (timetable.total_steps() == 0 || every.unit == Length::Unit::seconds) return std::nullopt;
  if (every.amount <= 0) return 1;
  const double steps_of_epoch = examples / static_cast<double>(plan.global_batch);
  const double interval = every.unit == Length::Unit::steps ? every.amount : every.amount * steps_of_epoch;
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::ceil(static_cast<double>(timetable.total_steps()) / interval)));
}

uint64_t without(uint64_t bytes, uint64_t present) { return bytes - std::min(bytes, present); }

struct Disk {
  DiskRoom room;
  std::vector<const RoomNeed*> needs;

  uint64_t sum(uint64_t RoomNeed::* bytes) const {
    uint64_t all = 0;
    for (const auto* need : needs) all += need->*bytes;
    return all;
  }
  std::string words(uint64_t RoomNeed::* bytes) const {
    std::vector<std::string> each;
    for (const auto* need : needs)
      each.push_back(text(human_bytes(need->*bytes), " in ", need->folder.string(), " for ", need->what));
    return text(join(each, " and "), needs.size() > 1 ? ", on one disk," : "", "; ",
                human_bytes(room.free_bytes), room.is_quota ? " are left by your quota" : " are free");
  }
  std::string remedies() const {
    std::vector<std::string> each;
    for (const auto* need : needs) each.push_back(need->remedy);
    return join(each, "; ");
  }
};

}  // namespace

uint64_t checkpoint_bytes(const Demand& demand) {
  return static_cast<uint64_t>(demand.model_bytes + demand.optimizer_bytes);
}

RoomNeed room_of_checkpoints(const RunConfig& config, const Demand& demand, const Plan& plan,
                             const std::filesystem::path& folder, uint64_t present_bytes) {
  const auto& kept = config.checkpoint;
  const auto saves = saves_of(config, demand, plan);
  // The best may be among the last ones; what is surplus goes when the new one is there.
  const int64_t certain = std::min(saves.value_or(1), kept.keep_last + 1);
  const int64_t likely =
      std::min(saves.value_or(kept.keep_last + kept.keep_best + 1), kept.keep_last + kept.keep_best + 1);
  const auto bytes = checkpoint_bytes(demand);
  return {.what = text("checkpoints of ", human_bytes(bytes), " each"),
          .folder = folder,
          .certain_bytes = without(static_cast<uint64_t>(certain) * bytes, present_bytes),
          .likely_bytes = without(static_cast<uint64_t>(likely) * bytes, present_bytes),
          .remedy =
              "checkpoint.keep_last=1 checkpoint.keep_best=0 keep fewer of them, run.folder=FOLDER has "
              "them elsewhere, larmor runs --remove takes old runs away"};
}

RoomNeed room_of_checkpoints(const RunConfig& config, const Demand& demand, const Plan& plan,
                             const RunFolder& folder) {
  const auto checkpoints = folder.checkpoints();
  return room_of_checkpoints(config, demand, plan, checkpoints, bytes_freed_by(checkpoints));
}

RoomNeed room_of_cache(const CacheForecast& forecast) {
  const auto held = std::min(forecast.needed_bytes, forecast.budget_bytes);
  return {.what = "the prepared cache",
          .folder = forecast.folder,
          .certain_bytes = without(held, forecast.present_bytes),
          .likely_bytes = std::min(held, without(forecast.budget_bytes, forecast.present_bytes)),
          .remedy =
              "data.budget=SIZE bounds the cache, data.cache_folder=FOLDER has it elsewhere, data.cache=none "
              "does without it"};
}

std::optional<RoomNeed> need_of_cache(const Stage& stage, const RunConfig& config, const Index& index) {
  if (config.data.cache != "full" || index.is_invented()) return std::nullopt;
  try {
    if (const auto filling = forecast_cache(stage, config, index)) return room_of_cache(*filling);
  } catch (const Error& error) {
    log::debug(text("what the prepared cache will take is not known: ", error.message()));
  }
  return std::nullopt;
}

std::vector<RoomNeed> needs_of_run(const Stage& stage, const RunConfig& config, const Index& index,
                                   const Demand& demand, const Plan& plan, const RunFolder& folder) {
  std::vector<RoomNeed> needs{room_of_checkpoints(config, demand, plan, folder)};
  if (auto cache = need_of_cache(stage, config, index)) needs.push_back(std::move(*cache));
  return needs;
}

std::vector<std::string> look_for_room(const std::vector<RoomNeed>& needs, bool goes_on) {
  std::map<uint64_t, Disk> disks;
  for (const auto& need : needs) {
    const auto room = disk_room_for(need.folder);
    if (!room) continue;
    auto& disk = disks.try_emplace(room->disk, Disk{.room = *room, .needs = {}}).first->second;
    disk.needs.push_back(&need);
  }
  std::vector<std::string> warnings;
  for (const auto& [number, disk] : disks) {
    const auto certain = disk.sum(&RoomNeed::certain_bytes), likely = disk.sum(&RoomNeed::likely_bytes);
    if (certain > disk.room.free_bytes) {
      const auto what = text("there is no room for at least ", disk.words(&RoomNeed::certain_bytes));
      if (!goes_on) fail(Exit::environment, what, disk.remedies() + "; --no-check goes on all the same");
      warnings.push_back(what);
    } else if (likely + likely / 10 > disk.room.free_bytes) {
      warnings.push_back(text("there is little room for up to ", disk.words(&RoomNeed::likely_bytes), " (",
                              disk.remedies(), ")"));
    }
  }
  return warnings;
}

std::string lack_of_room(const Stage& stage, const RunConfig& config, const Index& index, bool goes_on) {
  const auto need = need_of_cache(stage, config, index);
  if (!need) return {};
  try {
    for (const auto& warning : look_for_room({*need}, goes_on)) log::warning(warning);
    return {};
  } catch (const Error& error) {
    return text(error.message(), " (", error.hint(), ")");
  }
}

}  // namespace larmor

#include "app/show_draft.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/launch/open_files.h"
#include "larmor/run/data_block.h"
#include "larmor/run/room.h"

#include "app/train/step_record.h"

namespace larmor::app {

namespace {

void add_open_files(const Plan& plan, Json& json, Lines& lines) {
  const int ranks = plan.world_size();
  if (ranks == 1) return;
  const auto needed = open_files_of_rank(ranks), limit = limit_of_open_files();
  json["open_files"] = {{"of_rank", needed}, {"limit", limit}};
  lines.add(text("each rank opens up to ", needed, " files, and this host allows ", limit));
}

void add_measured(const RunDraft& draft, const LoadedConfig& loaded, Json& json, Lines& lines) {
  const auto step = kept_step(loaded, draft.plan);
  if (!step) return;
  json["measured"] = {{"day", step->day}, {"step_ms", step->value}};
  const auto steps = work_of_run(loaded.config, draft.demand, draft.plan).steps;
  constexpr double ms_in_a_second = 1000;
  lines.add(text("measured on ", step->day, ": ", fixed(step->value, 1), " ms a step",
                 steps ? text("; the steps of the whole run take ",
                              human_seconds(static_cast<double>(*steps) * step->value / ms_in_a_second))
                       : std::string()));
}

std::vector<std::string> look_for_room(const RunDraft& draft, const RunConfig& config,
                                       const DraftPlace& place) {
  return larmor::look_for_room({room_of_checkpoints(config, draft.demand, draft.plan, place.folder)},
                               place.goes_on_without_room);
}

}  // namespace

RunFolder folder_to_be(const RunConfig& config) {
  return {std::filesystem::path(config.run.folder) / (config.run.name == "auto" ? "" : config.run.name)};
}

void show_draft(Program& program, const RunDraft& draft, const LoadedConfig& loaded,
                const std::optional<DraftPlace>& place) {
  const RunConfig& config = loaded.config;
  Json json = to_json(draft.plan);
  Lines lines;
  lines.add_text(explain(draft.plan, draft.hardware));
  if (draft.index.account != nullptr) {
    auto work = work_of_run(config, draft.demand, draft.plan);
    if (!place) work.free_bytes.reset();
    json["data"] = data_block(draft.index, config, work);
    lines.add(lines_of_data(json["data"]));
  }
  if (place) {
    add_measured(draft, loaded, json, lines);
    add_open_files(draft.plan, json, lines);
    try {
      for (const auto& warning : look_for_room(draft, config, *place)) lines.add(warning);
    } catch (const Error&) {
      program.show(json, lines);
      throw;
    }
  }
  program.show(json, lines);
}

}  // namespace larmor::app

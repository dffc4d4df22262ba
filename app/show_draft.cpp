#include "app/show_draft.h"

#include "larmor/train/data_block.h"

namespace larmor::app {

void show_draft(Program& program, const RunDraft& draft, const RunConfig& config) {
  Json json = to_json(draft.plan);
  Lines lines;
  lines.add_text(explain(draft.plan, draft.hardware));
  if (draft.index.account != nullptr) {
    json["data"] = data_block(draft.index, config, work_of_run(config, draft.demand, draft.plan));
    lines.add(lines_of_data(json["data"]));
  }
  program.show(json, lines);
}

}  // namespace larmor::app

#include "larmor/run/supposed_data.h"

#include <cstdint>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// So many cases that they are no limit of a plan.
Index supposed_index(const RunConfig& config) {
  constexpr int64_t cases = 1000, one_to_validate_on = 10;
  Index index;
  index.kind = config.data.kind;
  for (int64_t number = 0; number < cases; ++number) {
    const auto name = text("case-", number);
    index.cases.push_back({.files = {{"image", name}},
                           .patient = name,
                           .split = number % one_to_validate_on == 0 ? Split::val : Split::train,
                           .bytes = 0,
                           .label = ""});
  }
  return index;
}

std::string supposed_message(const Index& index) {
  return text("No data are named: ", index.of(Split::train).size(),
              " training cases are supposed, each of the size that the config crops them to, or of 64 voxels "
              "an axis where it says none.");
}

}  // namespace

RunDraft draft_run_to_show(const LoadedStage& loaded, const std::optional<Hardware>& hardware) {
  const auto& config = loaded.config.config;
  const bool is_unnamed =
      config.data.folder.empty() && config.data.list.empty() && !loaded.stage->invents_data(config);
  try {
    return draft_run(loaded, hardware);
  } catch (const Error&) {
    if (!is_unnamed) throw;
    try {
      auto draft = draft_run(loaded, supposed_index(config), hardware);
      draft.plan.reasons.insert(draft.plan.reasons.begin(), supposed_message(draft.index));
      return draft;
    } catch (const Error&) {  // what is missing counts, not what nothing could be made of
    }
    throw;
  }
}

}  // namespace larmor

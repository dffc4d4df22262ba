#include "larmor/task/stage.h"

#include <algorithm>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/data/cache/cache_filling.h"
#include "larmor/data/index/mask_voxels.h"

namespace larmor {
namespace {

/// Each file that cannot be read by its own name; an example whose files are whole and that its chain cannot
/// take, by the example's.
std::vector<BadFile> files_behind(const Index& index, const std::vector<BadFile>& examples) {
  Index suspects;
  suspects.kind = index.kind;
  suspects.folder = index.folder;
  std::vector<BadFile> bad;
  for (const auto& example : examples) {
    const auto found = std::find_if(index.cases.begin(), index.cases.end(),
                                    [&](const Case& one) { return one.name() == example.path; });
    Index one = suspects;
    if (found != index.cases.end()) one.cases.push_back(*found);
    const auto files = check_files(one, Depth::full);
    if (files.empty()) bad.push_back(example);
    for (const auto& file : files) {
      if (std::find(bad.begin(), bad.end(), file) == bad.end()) bad.push_back(file);
    }
  }
  std::sort(bad.begin(), bad.end(), [](const BadFile& a, const BadFile& b) { return a.path < b.path; });
  return bad;
}

}  // namespace

std::vector<std::unique_ptr<Dataset>> datasets_to_prepare(const Stage& stage, RunConfig config,
                                                          const Index& index) {
  config.data.cache = "full";
  std::vector<std::unique_ptr<Dataset>> datasets;
  for (const auto split : {Split::train, Split::val, Split::test}) {
    auto dataset = stage.dataset(config, index, split);
    if (dataset != nullptr && dataset->preparable() != nullptr && dataset->size() > 0)
      datasets.push_back(std::move(dataset));
  }
  return datasets;
}

std::optional<CacheForecast> forecast_cache(const Stage& stage, const RunConfig& config, const Index& index) {
  const auto owned = datasets_to_prepare(stage, config, index);
  std::vector<const PreparableDataset*> datasets;
  for (const auto& dataset : owned) datasets.push_back(dataset->preparable());
  if (datasets.empty()) return std::nullopt;
  return forecast_cache(datasets);
}

void Stage::prepare(const RunConfig& config, const Index& index, PrepareContext& context) const {
  const auto owned = datasets_to_prepare(*this, config, index);
  std::vector<const PreparableDataset*> datasets;
  for (const auto& dataset : owned) datasets.push_back(dataset->preparable());
  if (const auto word = likely_masks_warning(find_likely_masks(index))) context.warnings.push_back(*word);
  if (datasets.empty()) {
    context.bad = check_files(index, Depth::full);
    return;
  }
  const auto filling = fill_cache(datasets, context.cores, context.progress);
  Json& cache = context.outputs["cache"];
  cache["folder"] = filling.folder.string();
  cache["bytes"] = filling.bytes;
  auto line = text("cache: ", human_bytes(filling.bytes), " in ", filling.folder.string(), ", ", filling.kept,
                   filling.kept == 1 ? " case" : " cases");
  if (filling.without_room > 0) line += text(", ", filling.without_room, " without room");
  if (config.data.cache == "none") line += "; training maps it with data.cache=full";
  context.lines.push_back(line);
  context.bad = files_behind(index, filling.bad);
}

}  // namespace larmor

#include "app/init/data_search.h"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/folder_scan.h"
#include "larmor/run/earlier/begun_run.h"

namespace larmor::app {

namespace {

namespace fs = std::filesystem;
using Keys = std::vector<std::string>;

Keys keys_of_folder(const std::string& kind, const fs::path& folder) {
  return {"data.kind=" + kind, "data.folder=" + Json(folder.string()).dump()};
}

/// Of each table and list that lies in the folder.
std::vector<Keys> keys_of_lists(const std::string& kind, const fs::path& folder) {
  std::vector<fs::path> lists;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(folder, error)) {
    const auto ending = lower(item.path().extension().string());
    if (ending == ".csv" || ending == ".tsv" || ending == ".json") lists.push_back(item.path());
  }
  std::ranges::sort(lists);
  std::vector<Keys> all;
  for (const auto& list : lists)
    all.push_back({"data.kind=" + kind, "data.list=" + Json(list.string()).dump()});
  return all;
}

/// The stage's own kind first; images of one kind may as well be of another, or stand in a list.
std::vector<Keys> candidates(const std::string& own, const fs::path& folder) {
  const auto lists = keys_of_lists(own == "mimic_cxr" ? "questions" : "list", folder);
  if (own == "list") return lists;
  std::vector<Keys> all{keys_of_folder(own, folder)};
  if (own == "nifti") {
    for (const auto* kind : {"dicom", "npz", "nrrd", "metaimage"})
      all.push_back(keys_of_folder(kind, folder));
  }
  if (own == "nifti" || own == "mimic_cxr") all.insert(all.end(), lists.begin(), lists.end());
  return all;
}

/// "12 .png, 3 .csv": the most frequent endings of names.
std::string what_lies_in(const fs::path& folder) {
  const auto scan = scan_folder(folder, {.suffixes = {"/"}, .include = {}, .exclude = {}});
  std::map<std::string, int> counts;
  for (const auto& [reason, files] : scan.account.passed_over) {
    for (const auto& file : files) ++counts[fs::path(file).extension().string()];
  }
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), &std::pair<std::string, int>::second);
  constexpr std::size_t most_shown = 4;
  if (sorted.size() > most_shown) sorted.resize(most_shown);
  std::vector<std::string> words;
  for (const auto& [ending, count] : sorted)
    words.push_back(text(count, ending.empty() ? " without an ending" : " " + ending));
  return words.empty() ? "no file at all" : join(words, ", ");
}

/// As long as it lives, the program's words have these keys as well, and its loads say nothing.
class MoreKeys {
 public:
  MoreKeys(Program& program, const Keys& keys) : program_(program), asked_(program.arguments()) {
    auto& words = program.arguments();
    words.quiet = true;
    words.overrides.insert(words.overrides.begin(), keys.begin(), keys.end());
  }
  ~MoreKeys() { program_.arguments() = asked_; }
  MoreKeys(const MoreKeys&) = delete;
  MoreKeys& operator=(const MoreKeys&) = delete;

 private:
  Program& program_;
  const VerbArguments asked_;
};

/// A few images are too few for a batch that is meant for many.
Keys batch_for(const LoadedStage& loaded, const Index& index) {
  const auto& batch = loaded.config.config.train.global_batch;
  if (!batch) return {};
  const auto examples = loaded.stage->dataset(loaded.config.config, index, Split::train)->size();
  return *batch <= examples ? Keys() : Keys{text("train.global_batch=", examples)};
}

void refuse_empty_split(const Index& index, const fs::path& folder) {
  for (const auto split : {Split::train, Split::val}) {
    if (!index.of(split).empty()) continue;
    fail(
        Exit::data,
        text(folder.string(), " has ", index.patients(), index.patients() == 1 ? " patient" : " patients",
             " (", index.patients_by, "), and nobody is left for ", to_text(split)),
        "two patients at least are needed, one to learn from and one to judge by; where each file is another "
        "patient's, data.split.by=file says so");
  }
}

/// A few cases of each split are read as `train` will read them: one of them has to be of use.
void refuse_unusable(const LoadedStage& loaded, const Index& index) {
  constexpr int64_t most_read = 8;
  for (const auto split : {Split::val, Split::train}) {
    const auto dataset = loaded.stage->dataset(loaded.config.config, index, split);
    std::optional<Error> reason;
    for (int64_t example = 0; example < std::min(most_read, dataset->size()); ++example) {
      try {
        loaded.stage->check_example(dataset->get({.seed = 0, .epoch = 0, .example = example}), split);
        reason.reset();
        break;
      } catch (const Error& error) {
        if (error.exit() != Exit::data) throw;
        if (!reason) reason = error.within(dataset->name(example));
      }
    }
    if (!reason) continue;
    fail(Exit::data,
         text("no case of ", to_text(split), " that was looked at can be used: ", reason->message()),
         "repair such files, or leave them out: larmor init … 'data.exclude=[\"NAME OF THE FILE\"]'");
  }
}

/// Of the config that is copied, or of the default where that one invents its data.
std::string own_kind(Program& program, const Workload& workload) {
  const auto copied = program.load_to_show(workload);
  if (!copied.stage->invents_data(copied.config.config)) return copied.config.config.data.kind;
  const auto asked = program.arguments();
  program.arguments().configs.clear();
  auto kind = program.load_to_show(workload).config.config.data.kind;
  program.arguments() = asked;
  return kind;
}

}  // namespace

FoundData search_data(Program& program, const Workload& workload, const fs::path& folder) {
  const auto own = own_kind(program, workload);
  std::optional<Error> first;
  for (auto keys : candidates(own, folder)) {
    const MoreKeys words(program, keys);
    std::optional<LoadedStage> loaded;
    Index index;
    try {
      loaded.emplace(program.load(workload));
      index = loaded->stage->index(loaded->config.config);
    } catch (const Error& error) {
      if (!first) first = error;
      continue;
    }
    refuse_empty_split(index, folder);
    const auto batch = batch_for(*loaded, index);
    keys.insert(keys.end(), batch.begin(), batch.end());
    const MoreKeys all(program, batch);
    loaded.emplace(program.load(workload));
    check_begun(workload, *loaded, index);
    refuse_unusable(*loaded, index);
    return {.keys = keys, .config = loaded->config.config, .draft = draft_run(*loaded, std::move(index), {})};
  }
  // What is wrong with words that are not about the kind is wrong with each kind.
  if (first && first->exit() != Exit::data) throw Error(*first);
  const auto stage = program.stage_of(workload);
  const Error none(Exit::data, "no table lies in it (*.csv, *.tsv, *.json)");
  const Error& why = first ? *first : none;
  fail(Exit::data,
       text(folder.string(), " has no data for the stage ", stage, " of ", workload.name(), ": ",
            why.message(), "; there are ", what_lies_in(folder)),
       text(why.hint().empty() ? "" : why.hint() + "; ", "it takes ", workload.named(stage).data));
}

}  // namespace larmor::app

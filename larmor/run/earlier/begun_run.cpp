#include "larmor/run/earlier/begun_run.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/linked_file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/hash.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"
#include "larmor/run/earlier/checkpoint_reference.h"
#include "larmor/run/earlier/checkpoint_weights.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/task/undrawn_task.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr const char* begun_key = "from.run";
constexpr const char* begun_record = "begun_from.json";
constexpr int64_t begun_format = 1;

fs::path place_in(const RunFolder& folder) { return folder.from() / "run"; }

bool asks_for_optimizer(const RunConfig& config) {
  const auto said = config.from.find("optimizer");
  return said != config.from.end() && said->second == "true";
}

std::string shape_of(const std::vector<int64_t>& sizes) {
  std::vector<std::string> words;
  for (const int64_t size : sizes) words.push_back(text(size));
  return "[" + join(words, ", ") + "]";
}

/// A line for each weight that is not the same in both: what `network` is called, and how each has it.
void compare_shapes(const std::string& network, const NamedTensors& own, const StoredTensors& theirs,
                    std::vector<std::string>& faults) {
  for (const auto& [name, tensor] : own) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      faults.push_back(text(network, ": ", name, " ", shape_of(tensor.sizes().vec()), " is not there"));
    } else if (found->second.shape != tensor.sizes()) {
      faults.push_back(text(network, ": ", name, " is ", shape_of(found->second.shape), " there and ",
                            shape_of(tensor.sizes().vec()), " here"));
    }
  }
  for (const auto& [name, stored] : theirs) {
    if (!own.contains(name))
      faults.push_back(text(network, ": ", name, " ", shape_of(stored.shape), " is not known here"));
  }
}

/// Whether networks of earlier stages can be made, of which the stage's own may be.
bool has_what_it_needs(const Stage& stage) {
  if (stage.earlier() == nullptr) return true;
  const auto& needs = stage.earlier()->needs();
  const auto& sources = stage.earlier()->sources();
  return std::ranges::all_of(needs,
                             [&](const Need& need) { return !sources.at(need.stage).weights.path.empty(); });
}

/// Whether from.run shows what a run has kept, and names none.
bool is_kept(const std::string& words) { return words.starts_with("sha256:"); }

bool is_of_checkpoint(const fs::path& within) { return within.begin()->string().starts_with("step-"); }

bool is_of_begun(const fs::path& within) {
  return within == begun_record || within == trained_on_name || is_of_checkpoint(within);
}

}  // namespace

std::string BegunFrom::hash() const {
  const auto counts = [&](const std::string& name) {
    if (name == "state.json") return false;
    if (name.starts_with("optimizer-")) return with_optimizer;
    return !name.starts_with("ema.") || average || with_optimizer;
  };
  std::string words = text("average ", average, "\noptimizer ", with_optimizer);
  for (const auto& file : checkpoint.manifest.at("files")) {
    const auto name = file.at("name").get<std::string>();
    if (counts(name)) words += text("\n", name, " ", file.at("sha256").get<std::string>());
  }
  const auto state = read_checkpoint_state(checkpoint);
  words += text("\ntask ", state.value("task", Json()).dump());
  if (with_optimizer) words += text("\nobjectives ", state.value("objectives", Json()).dump());
  return "sha256:" + sha256(words);
}

std::optional<std::string> named_beginning(const RunConfig& config) {
  const auto said = config.from.find("run");
  if (said == config.from.end() || said->second.empty()) return std::nullopt;
  return said->second;
}

std::optional<BegunFrom> find_begun(const Workload& workload, const LoadedStage& asked) {
  const auto& config = asked.config.config;
  const auto words = named_beginning(config);
  if (!words || is_kept(*words)) return std::nullopt;
  const auto reference = find_reference(begun_key, *words, config.run.folder);
  check_stage(begun_key, reference.run, workload, config.stage);
  const auto loaded = load_run_stage(reference.run, workload);
  const bool lower_is_better = loaded.config.config.checkpoint.mode == "min";
  auto chosen = choose(begun_key, reference, lower_is_better);
  if (!chosen.entry.ok) chosen.entry = require_whole(begun_key, reference, chosen.entry);
  BegunFrom begun{.checkpoint = std::move(chosen.entry),
                  .run = fs::weakly_canonical(reference.run.root).string(),
                  .why = chosen.why,
                  .with_optimizer = asks_for_optimizer(config),
                  .trained_on = trained_on_by(reference.run),
                  .config = loaded.config.config};
  // The optimizer's state is that of the last weights.
  begun.average =
      !begun.with_optimizer && takes_average(WeightChoice::of_stage, *asked.stage, begun.checkpoint);
  return begun;
}

fs::path run_of_begun(const RunConfig& config) {
  const auto words = named_beginning(config);
  if (!words || is_kept(*words)) return {};
  try {
    return find_reference(begun_key, *words, config.run.folder).run.root;
  } catch (const Error&) {
    return {};  // is said by find_begun(), unless a run that is there has kept what it needs
  }
}

void check_begun(const BegunFrom& begun, const LoadedStage& asked, const Index& index) {
  const auto& config = asked.config.config;
  if (!has_what_it_needs(*asked.stage)) return;
  const auto task = undrawn_task(*asked.stage, config, index);
  std::vector<std::string> faults;
  bool is_first = true;
  for (const auto& objective : task->objectives()) {
    const auto file = weights_file(objective.name, is_first);
    is_first = false;
    if (!has_checkpoint_file(begun.checkpoint, file)) {
      faults.push_back(text(objective.name, ": that run has no such network"));
      continue;
    }
    compare_shapes(objective.name, state_dict(*objective.network),
                   open_tensors(begun.checkpoint.folder / file), faults);
    const auto& here = config.optim_of(objective.name).name;
    const auto& there = begun.config.optim_of(objective.name).name;
    if (begun.with_optimizer && here != there)
      faults.push_back(text(objective.name, ": its optimizer is ", there, " there and ", here, " here"));
  }
  if (faults.empty()) return;
  constexpr size_t most = 8;
  fail(Exit::usage,
       text(begun_key, ": what ", begun.run, " (", begun.checkpoint.folder.filename().string(),
            ") has trained does not fit the networks of this run:", items(faults, most)),
       text("give the model.* and optim.name that it was trained with: -c ",
            (fs::path(begun.run) / "config.yaml").string()));
}

void check_begun(const Workload& workload, const LoadedStage& asked, const Index& index) {
  if (const auto begun = find_begun(workload, asked)) check_begun(*begun, asked, index);
}

std::string begun_message(const BegunFrom& begun) {
  const auto which = begun.checkpoint.folder.filename().string();
  const auto why = begun.why == "best"   ? std::string(", its best")
                   : begun.why == "last" ? std::string(", its last")
                                         : std::string();
  return text("begins with the ", begun.average ? "averaged " : "", "weights of ", begun.run, " (", which,
              why, ")", begun.with_optimizer ? ", and with the state of its optimizer" : "");
}

std::optional<BegunFrom> settle_begun(const Workload& workload, LoadedStage& asked, bool is_new,
                                      Json& recorded) {
  const auto words = named_beginning(asked.config.config);
  if (!words) return std::nullopt;
  if (is_kept(*words)) {
    if (!is_new) return std::nullopt;
    fail(Exit::usage, text(begun_key, " is ", *words, ", which says nothing of where those weights are"),
         "say from.run=RUN, or from.run= to begin with none");
  }
  if (is_new) {
    auto begun = find_begun(workload, asked).value();
    begun.checkpoint = require_whole(begun_key, {.run = {begun.run}}, begun.checkpoint);
    const auto hash = begun.hash();
    recorded["run"] = {
        {"asked", *words},           {"hash", hash},
        {"run", begun.run},          {"checkpoint", begun.checkpoint.folder.filename().string()},
        {"averaged", begun.average}, {"optimizer", begun.with_optimizer}};
    asked.config.freeze_from("run", hash);
    return begun;
  }
  const auto start = recorded.find("run");
  std::string hash;
  try {
    hash = find_begun(workload, asked).value().hash();
  } catch (const Error&) {
    if (start == recorded.end() || start->at("asked") != *words) throw;
    hash = start->at("hash").get<std::string>();
  }
  asked.config.freeze_from("run", hash);
  return std::nullopt;
}

void keep_begun(const BegunFrom& begun, const RunFolder& folder, Storage& storage) {
  const auto place = place_in(folder);
  remove_own(storage, place, is_of_begun);  // of a start that was killed
  const auto name = begun.checkpoint.folder.filename();
  storage.create_folders(place / name);
  for (const auto& item : fs::directory_iterator(begun.checkpoint.folder)) {
    if (item.is_regular_file()) link_or_copy(storage, item.path(), place / name / item.path().filename());
  }
  storage.sync_folder(place / name);
  keep_trained_on(begun.trained_on, place, storage);
  const Json record{{"format", begun_format},
                    {"run", begun.run},
                    {"checkpoint", name.string()},
                    {"averaged", begun.average},
                    {"optimizer", begun.with_optimizer}};
  write_text(storage, place / begun_record, to_text(record));  // syncs the folder
}

std::optional<BegunFrom> kept_begun(const RunFolder& folder) {
  const auto place = place_in(folder);
  std::error_code unknown;
  if (!fs::exists(place / begun_record, unknown)) return std::nullopt;
  const auto record = read_json(place / begun_record);
  const auto checkpoint = place / record.at("checkpoint").get<std::string>();
  if (!fs::exists(checkpoint, unknown)) {
    fail(Exit::checkpoint,
         text("the weights that the run has begun with are not there any more: ", checkpoint.string()),
         "a run keeps them until its own first checkpoint; start another run");
  }
  return BegunFrom{.checkpoint = open_checkpoint(checkpoint),
                   .run = record.at("run").get<std::string>(),
                   .why = "",
                   .average = record.at("averaged").get<bool>(),
                   .with_optimizer = record.at("optimizer").get<bool>(),
                   .trained_on = kept_trained_on(place)};
}

void forget_begun(const RunFolder& folder, Storage& storage) {
  remove_own(storage, place_in(folder), [](const fs::path& within) { return is_of_checkpoint(within); });
}

}  // namespace larmor

#include "larmor/run/changed_run.h"

#include <algorithm>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// Of one objective.
std::string schedule_message(const ScheduleConfig& schedule, const LoadedConfig& before,
                             const LoadedConfig& now) {
  const auto& length = now.config.train.length;
  const auto& old = before.config.train.length;
  if (!schedule.has_end())
    return text("the schedule ", schedule.name, " does not go by the length: rates are as they were");
  if (schedule.steps > 0)
    return text("the schedule ", schedule.name, " ends at step ", schedule.steps, ", whatever the length is");
  return text("the schedule ", schedule.name, " is drawn over ", to_text(length), " in place of ",
              to_text(old), ": from here on the rate is that of a run of this length",
              old.unit == Length::Unit::steps
                  ? text("; with optim.schedule.steps=", old.amount, " it stays as it was")
                  : std::string());
}

std::vector<std::string> objectives_of(const RunConfig& config) {
  std::vector<std::string> names;
  for (const auto& [name, section] : config.objectives) names.push_back(name);
  if (names.empty()) names.emplace_back();
  return names;
}

/// Whether the rates of steps to come are not those that the run would have had.
bool moves_rates(const std::string& key, const LoadedConfig& now) {
  if (key.ends_with("schedule.steps")) return true;
  const auto names = objectives_of(now.config);
  return std::ranges::any_of(names, [&](const auto& name) {
    const auto& schedule = now.config.optim_of(name).schedule;
    if (key == "train.length") return schedule.has_end() && schedule.steps == 0;
    return key == "train.validate_every" && schedule.name == "plateau";
  });
}

std::string in_words(const KeyDifference& difference) {
  const auto or_none = [](const std::string& value) {
    return value.empty() ? std::string("not there") : value;
  };
  return text(difference.key, " was ", or_none(difference.ours), " and is ", or_none(difference.theirs));
}

std::vector<std::string> schedule_messages(const LoadedConfig& before, const LoadedConfig& now) {
  std::vector<std::string> all;
  for (const auto& name : objectives_of(now.config)) {
    auto words = schedule_message(now.config.optim_of(name).schedule, before, now);
    if (std::ranges::find(all, words) == all.end()) all.push_back(std::move(words));
  }
  return all;
}

using Differences = std::vector<KeyDifference>;

/// Takes those out that may change.
Differences take_free(Differences& all) {
  const auto is_bound = [](const KeyDifference& one) { return !LoadedConfig::may_change(one.key); };
  const auto free = std::stable_partition(all.begin(), all.end(), is_bound);
  Differences taken(std::make_move_iterator(free), std::make_move_iterator(all.end()));
  all.erase(free, all.end());
  return taken;
}

std::string shown(const std::string& value) {
  constexpr size_t most = 80;
  if (value.empty()) return "nothing";
  return value.size() <= most ? value : value.substr(0, most) + "…";
}

/// "train.length (60st there, 90st here)"
std::string both_values(const Differences& differences) {
  std::vector<std::string> all;
  for (const auto& one : differences)
    all.push_back(text(one.key, " (", shown(one.ours), " there, ", shown(one.theirs), " here)"));
  return join(all, ", ");
}

/// As a shell reads it.
std::string quoted(const std::string& word) {
  const bool is_plain = word.find_first_not_of(
                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            "_-./=:,+@%") == std::string::npos;
  if (is_plain) return word;
  std::string inside;
  for (const char letter : word) inside += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text("'", inside, "'");
}

std::string overrides_text(const Differences& differences) {
  std::string words;
  for (const auto& one : differences) words += text(" ", quoted(text(one.key, "=", one.theirs)));
  return words;
}

/// A command that begins another run with the weights of this one, and with what this one was built on.
std::string command_of_another(const RunFolder& folder, const LoadedConfig& stored,
                               const Differences& wanted) {
  const auto& config = stored.config;
  std::string command = text("larmor train ", config.workload, " --stage ", config.stage, " -c ",
                             quoted(folder.config().string()), " run.name=auto");
  for (const auto& [key, path] : stored.paths) command += text(" ", quoted(text(key, "=", path.is)));
  return text(command, overrides_text(wanted), " ", quoted(text("from.run=", folder.root.string())));
}

[[noreturn]] void refuse(const RunFolder& folder, const LoadedConfig& stored, const Differences& bound,
                         const Differences& free, bool is_by_name) {
  auto wanted = bound;
  wanted.insert(wanted.end(), free.begin(), free.end());
  const auto run = text("larmor train ", quoted(folder.root.string()));
  const auto beginning = quoted(text("from.run=", folder.root.string()));
  std::string remedy;
  if (bound.empty()) {
    remedy =
        text("`", run, overrides_text(free), "` goes on with it so; or give this run another run.name, and ",
             beginning, " begins it with those weights");
  } else if (is_by_name) {
    remedy = text("`", run, "` goes on with it as it is; or give this run another run.name, and ", beginning,
                  " begins it with those weights");
  } else {
    remedy = text("go on without them: `", run, "`; or begin another run with its weights: `",
                  command_of_another(folder, stored, wanted), "`");
  }
  fail(Exit::usage,
       text("the run ", folder.root.string(),
            " was started with another configuration; these keys differ: ", both_values(wanted)),
       remedy);
}

RunChange change_of(const KeyDifference& one, const LoadedConfig& now) {
  return {.words = in_words(one), .is_bitwise = !moves_rates(one.key, now)};
}

/// config.yaml as the last start has left it, or as a person has changed it since.
void settle_edits(ChangedRun& run, const RunFolder& folder, const ChangeRequest& request,
                  const Json& environment) {
  const auto& now = run.loaded.config;
  auto bound = edits_of(now, environment);
  const auto free = take_free(bound);
  const auto file = folder.config().string();
  if (!bound.empty() && !request.accepts_config) {
    fail(Exit::usage, text(file, " has been edited since the run was last started: ", both_values(bound)),
         text("put the old values back; or `larmor train ", quoted(folder.root.string()),
              " --accept-config` goes on with the new ones, and says so in events.jsonl and in the "
              "checkpoints"));
  }
  for (const auto& one : bound) {
    if (one.key == "run.seed") {
      fail(
          Exit::usage, text(file, " has another run.seed (", one.ours, " there, ", one.theirs, " here)"),
          text("put ", one.ours, " back: the order of the examples goes by it, and the run is in its midst"));
    }
    run.changes.push_back({.words = in_words(one) + " (--accept-config)", .is_bitwise = false});
  }
  for (const auto& one : free) run.changes.push_back(change_of(one, now));
}

void note(ChangedRun& run, const LoadedConfig& before) {
  for (const auto& change : run.changes) run.notes.push_back(change.words);
  if (before.config.train.length == run.loaded.config.config.train.length) return;
  for (auto& words : schedule_messages(before, run.loaded.config)) run.notes.push_back(std::move(words));
}

}  // namespace

ChangedRun go_on_with(const RunFolder& folder, const Workload& workload, const LoadedConfig& asked,
                      const ChangeRequest& request, const Json& environment) {
  ChangedRun run{.loaded = load_run_stage(folder, workload), .changes = {}, .notes = {}};
  settle_edits(run, folder, request, environment);
  const LoadedConfig before = run.loaded.config;
  if (request.words.empty()) {
    auto bound = before.differences(asked);
    const auto free = take_free(bound);
    if (!bound.empty() || (!free.empty() && !request.has_first_words))
      refuse(folder, before, bound, free, /*is_by_name=*/true);
    run.loaded.config.work_as(asked);
  } else {
    auto changed = load_run_stage(folder, workload, request.words);
    auto bound = before.differences(changed.config);
    const auto free = take_free(bound);
    if (!bound.empty()) refuse(folder, before, bound, free, /*is_by_name=*/false);
    for (const auto& one : free) run.changes.push_back(change_of(one, changed.config));
    run.loaded = std::move(changed);
  }
  note(run, before);
  return run;
}

}  // namespace larmor

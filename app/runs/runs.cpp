// `runs`: what lies in a folder of runs, and taking away those that are not wanted any more.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/text.h"
#include "larmor/launch/job.h"
#include "larmor/run/run_list.h"
#include "larmor/run/standing/run_standing.h"

#include "app/program.h"
#include "app/say.h"

namespace larmor::app {

namespace {

namespace fs = std::filesystem;

struct RunsFlags {
  std::string folder = RunSection{}.folder;
  std::vector<std::string> removed;
  bool dry = false, force = false;
};

std::vector<std::string> names_of(const std::vector<RunFolder>& runs) {
  std::vector<std::string> names;
  for (const auto& run : runs) names.push_back(run.root.filename().string());
  return names;
}

/// A run as it is listed.
struct ListedRun {
  std::string name;
  RunOutline outline;
  RunStanding standing;
  uint64_t bytes = 0;
  std::vector<std::string> needed_by;
};

/// A run that stands still and whose job is in SLURM's queue is waiting: nobody has to start it.
void ask_for_jobs(std::vector<ListedRun>& runs) {
  const auto could_wait = [](const RunStanding& standing) {
    return standing.state == "stopped" || standing.state == "interrupted";
  };
  std::set<std::string> jobs;
  for (const auto& run : runs) {
    if (could_wait(run.standing)) jobs.insert(run.standing.job);
  }
  const auto waiting = waiting_jobs(jobs, process_environment());
  for (auto& run : runs) {
    if (could_wait(run.standing) && waiting.contains(run.standing.job)) run.standing.state = "waiting";
  }
}

std::vector<ListedRun> listed_runs(const Program& program, const std::string& folder) {
  const auto runs = runs_in(folder);
  std::vector<ListedRun> all;
  for (const auto& run : runs) {
    all.push_back({.name = run.root.filename().string(),
                   .outline = outline_of(run),
                   .standing = standing_of(run),
                   .bytes = bytes_freed_by(run.root),
                   .needed_by = names_of(who_needs(run, runs, program.workloads()))});
  }
  ask_for_jobs(all);
  return all;
}

Json known_or_null(const auto& value) { return value ? Json(*value) : Json(nullptr); }
Json words_or_null(const std::string& words) { return words.empty() ? Json(nullptr) : Json(words); }

Json row_of_run(const ListedRun& run) {
  return {{"run", run.name},
          {"workload", run.outline.workload},
          {"stage", run.outline.stage},
          {"state", run.standing.state},
          {"step", known_or_null(run.outline.step)},
          {"last_step", known_or_null(run.standing.step)},
          {"steps", known_or_null(run.standing.steps)},
          {"last_logged", known_or_null(run.standing.last_logged)},
          {"held_by", words_or_null(run.standing.holder)},
          {"job", words_or_null(run.standing.job)},
          {"bytes", run.bytes},
          {"pinned", run.outline.pinned},
          {"needed_by", run.needed_by}};
}

std::string line_of_run(const ListedRun& run) {
  const auto& standing = run.standing;
  auto line = text(run.name, "  ", standing.state);
  const auto step = standing.step ? standing.step : run.outline.step;
  if (step) line += text(", step ", *step);
  if (step && standing.steps) line += text(" of ", *standing.steps);
  if (step && run.outline.step && *run.outline.step != *step) line += text(", saved ", *run.outline.step);
  if (standing.last_logged) {
    const auto seconds = std::max(0.0, system_clock().wall_seconds() - *standing.last_logged);
    line += text(", ", human_seconds(std::floor(seconds)), " ago");
  }
  if (standing.state == "training") line += ", by " + standing.holder;
  if (standing.state == "waiting") line += text(", for its job (", standing.job, ")");
  line += "  " + human_bytes(run.bytes);
  if (!run.outline.pinned.empty()) line += "  pinned: " + join(run.outline.pinned, ", ");
  if (!run.needed_by.empty()) line += "  needed by " + join(run.needed_by, ", ");
  return line;
}

int list(Program& program, const RunsFlags& flags) {
  Json all = Json::array();
  Lines lines;
  for (const auto& run : listed_runs(program, flags.folder)) {
    all.push_back(row_of_run(run));
    lines.add(line_of_run(run));
  }
  program.show(all, lines.empty() ? Lines("no runs in " + flags.folder) : lines);
  return 0;
}

/// What was named, each once. What is left of a removal is no run, and has a name of its own.
std::vector<RunFolder> named_runs(const RunsFlags& flags) {
  std::vector<RunFolder> runs;
  for (const auto& word : flags.removed) {
    const RunFolder rest{fs::path(flags.folder) / word};
    auto run = is_left_of_removal(rest) && fs::is_directory(rest.root) ? rest : find_run(word, flags.folder);
    const auto is_same = [&](const RunFolder& other) { return other.root == run.root; };
    if (std::ranges::none_of(runs, is_same)) runs.push_back(std::move(run));
  }
  return runs;
}

/// A line for each reason not to take them away that is a person's to weigh.
std::vector<std::string> reasons_to_keep(const Program& program, const std::vector<RunFolder>& runs) {
  std::vector<std::string> reasons;
  for (const auto& run : runs) {
    auto others = runs_in(run.root.parent_path());
    std::erase_if(others, [&](const RunFolder& other) {
      return std::ranges::any_of(runs, [&](const RunFolder& one) {
        std::error_code gone;
        return fs::equivalent(one.root, other.root, gone);
      });
    });
    const auto name = run.root.filename().string();
    if (const auto needed_by = names_of(who_needs(run, others, program.workloads())); !needed_by.empty())
      reasons.push_back(text(name, " is needed by ", join(needed_by, ", ")));
    if (const auto pinned = outline_of(run).pinned; !pinned.empty())
      reasons.push_back(text(name, " has checkpoints that are pinned: ", join(pinned, ", ")));
  }
  return reasons;
}

Lines words_before(const std::vector<RunFolder>& runs, const std::vector<uint64_t>& bytes) {
  Lines lines;
  uint64_t all = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    lines.add(text("to be removed: ", runs[i].root.string(), ", ", outline_of(runs[i]).state, ", ",
                   human_bytes(bytes[i])));
    all += bytes[i];
  }
  if (runs.size() > 1) lines.add(text(human_bytes(all), " in all"));
  return lines;
}

int remove(Program& program, const RunsFlags& flags) {
  const auto runs = named_runs(flags);
  // Nothing goes before it is certain that all may.
  std::vector<FileLock> locks;
  std::vector<uint64_t> bytes;
  for (const auto& run : runs) {
    if (!is_left_of_removal(run)) locks.emplace_back(run.lock());
    bytes.push_back(bytes_freed_by(run.root));
  }
  const auto reasons = reasons_to_keep(program, runs);
  if (!reasons.empty() && !flags.force) {
    fail(Exit::usage, text("nothing was removed:", items(reasons, reasons.size())),
         "larmor checkpoint unpin takes a pin away; --force removes them all the same");
  }
  const auto before = words_before(runs, bytes);
  if (!flags.dry && !program.arguments().quiet) say(before);
  Json all = Json::array();
  Lines lines;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& root = runs[i].root;
    const bool is_gone = !flags.dry && remove_run(runs[i], program.storage());
    all.push_back({{"run", root.string()}, {"bytes", bytes[i]}, {"removed", is_gone}});
    lines.add(is_gone ? text("removed ", root.string(), ", ", human_bytes(bytes[i]))
                      : text(root.string(), " is no run any more; what larmor has not written stays there"));
  }
  program.show(all, flags.dry ? before : lines);
  return 0;
}

}  // namespace

void add_runs(Program& program) {
  const auto flags = std::make_shared<RunsFlags>();
  auto& verb = program.add_verb(
      "runs", "the runs of a folder, what each takes, and removing them",
      [&program, flags] { return flags->removed.empty() ? list(program, *flags) : remove(program, *flags); });
  verb.add_option("--folder", flags->folder, "the folder of all run folders");
  auto* const remove =
      verb.add_option("--remove", flags->removed, "run folders or names of runs, to be taken away")
          ->type_name("RUN …");
  verb.add_flag("--dry-run", flags->dry, "only say what would be removed")->needs(remove);
  verb.add_flag("--force", flags->force, "remove what other runs need, or is pinned, as well")->needs(remove);
}

}  // namespace larmor::app

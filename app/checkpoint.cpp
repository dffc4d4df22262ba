#include "larmor/checkpoint/checkpoint.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/run/run_setup.h"

#include "app/program.h"

namespace larmor::app {

namespace {

std::string line_of(const CheckpointEntry& entry) {
  return text(entry.folder.filename().string(), "  epoch ", fixed(entry.epoch, 2), "  ",
              entry.metric ? text("metric ", fixed(*entry.metric, 6)) : std::string("no metric"), "  ",
              human_bytes(entry.bytes), entry.pinned ? "  pinned" : "",
              entry.ok ? "  ok" : "  DAMAGED: " + bounded(entry.reason));
}

Json row_of(const CheckpointEntry& entry) {
  Json row;
  row["step"] = entry.step;
  row["epoch"] = entry.epoch;
  row["metric"] = entry.metric ? Json(*entry.metric) : Json(nullptr);
  row["bytes"] = entry.bytes;
  row["ok"] = entry.ok;
  row["reason"] = entry.reason;
  row["pinned"] = entry.pinned;
  return row;
}

int list(Program& program, bool verify) {
  program.refuse_overrides();
  const auto folder = program.run_folder();
  Json all = Json::array();
  Lines lines;
  size_t damaged = 0;
  for (const auto& entry : list_checkpoints(folder.checkpoints(), verify)) {
    all.push_back(row_of(entry));
    lines.add(line_of(entry));
    if (!entry.ok) ++damaged;
  }
  program.show(all, lines.empty() ? Lines("no checkpoints") : lines);
  if (damaged == 0 || !verify) return 0;
  fail(
      Exit::checkpoint,
      text(damaged, " of ", all.size(), " checkpoints in ", folder.checkpoints().string(), " cannot be used"),
      "larmor train RUN goes on from the newest whole one");
}

int prune(Program& program) {
  program.refuse_overrides();
  const auto folder = program.run_folder();
  const auto loaded = load_run_stage(folder, program.workload(workload_of(folder)));
  const auto& config = loaded.config.config.checkpoint;
  const FileLock lock(folder.lock());
  const auto pruned = prune_checkpoints(folder.checkpoints(), program.storage(),
                                        {.keep_last = config.keep_last,
                                         .keep_best = config.keep_best,
                                         .lower_is_better = config.mode == "min"});
  Json all = Json::array();
  Lines lines;
  for (const auto& path : pruned.removed) {
    all.push_back(path.filename().string());
    lines.add(text("removed ", path.filename().string()));
  }
  for (const auto& entry : pruned.damaged)
    lines.add(text("left ", entry.folder.filename().string(), ", which is damaged: ", bounded(entry.reason)));
  program.show(all, lines.empty() ? Lines("nothing to remove") : lines);
  return 0;
}

/// The run may be training: a pin needs no lock.
int pin(Program& program, const std::string& choice, bool pinned) {
  program.refuse_overrides();
  const auto folder = program.run_folder();
  const auto loaded = load_run_stage(folder, program.workload(workload_of(folder)));
  const auto entry = choose_checkpoint(folder, choice, loaded.config.config.checkpoint.mode == "min");
  pin_checkpoint(entry.folder, pinned, program.storage());
  const auto now = open_checkpoint(entry.folder);
  const auto name = entry.folder.filename().string();
  program.show(row_of(now), Lines(text(name, pinned ? " is pinned: it stays until it is unpinned"
                                                    : " is not pinned: it stays while keep_last or keep_best "
                                                      "of the run keep it")));
  return 0;
}

void add_pin(Program& program, CLI::App& family, const std::string& name, const std::string& help,
             bool pinned) {
  const auto choice = std::make_shared<std::string>("best");
  auto& verb = program.add_run_verb(
      name, help, [&program, choice, pinned] { return pin(program, *choice, pinned); }, &family);
  verb.add_option("--checkpoint", *choice, "best, last or a checkpoint folder");
}

}  // namespace

void add_checkpoint(Program& program) {
  auto& family =
      program.add_family("checkpoint", "the checkpoints of a run: list, verify, prune, pin, unpin");
  program.add_run_verb(
      "list", "what there is", [&program] { return list(program, /*verify=*/false); }, &family);
  program.add_run_verb(
      "verify", "read every byte and compare its hash", [&program] { return list(program, /*verify=*/true); },
      &family);
  program.add_run_verb(
      "prune", "remove all but the newest and the best, as the run's config says",
      [&program] { return prune(program); }, &family);
  add_pin(program, family, "pin", "keep one whatever keep_last and keep_best say", /*pinned=*/true);
  add_pin(program, family, "unpin", "keep it no longer than keep_last and keep_best say", /*pinned=*/false);
}

}  // namespace larmor::app

#include "larmor/run/earlier/checkpoint_reference.h"

#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// Of the folder of a checkpoint in its run, set aside or not; an empty one where it is none.
RunFolder run_around(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_regular_file(folder / "manifest.json", none)) return {};
  const RunFolder run{fs::weakly_canonical(folder).parent_path().parent_path()};
  return run.is_run() ? run : RunFolder();
}

std::vector<std::string> names_in(const std::vector<CheckpointEntry>& entries) {
  std::vector<std::string> names{"best", "last"};
  for (const auto& entry : entries) names.push_back(entry.folder.filename().string());
  return names;
}

}  // namespace

CheckpointReference find_reference(const std::string& key, const std::string& words, const fs::path& runs) {
  if (auto run = run_around(words); !run.root.empty())
    return {.run = std::move(run), .choice = "", .folder = words};
  const auto mark = words.rfind('#');
  try {
    CheckpointReference reference{.run = find_run(words.substr(0, mark), runs)};
    if (mark != std::string::npos) reference.choice = words.substr(mark + 1);
    return reference;
  } catch (const Error& error) {
    throw error.within(key);
  }
}

void check_stage(const std::string& key, const RunFolder& run, const Workload& workload,
                 const std::string& stage) {
  const auto environment = read_json(run.environment());
  const auto its_workload = environment.at("workload").get<std::string>();
  const auto its_stage = environment.at("stage").get<std::string>();
  if (its_workload == workload.name() && its_stage == stage) return;
  fail(Exit::usage,
       text(key, ": ", run.root.string(), " is a run of the stage ", its_stage, " of ", its_workload,
            ", and one of the stage ", stage, " of ", workload.name(), " is needed"),
       text("larmor train ", workload.name(), " --stage ", stage, " makes one"));
}

ChosenCheckpoint choose(const std::string& key, const CheckpointReference& reference, bool lower_is_better) {
  if (!reference.folder.empty())
    return {.entry = open_checkpoint(fs::canonical(reference.folder)), .why = ""};
  const auto& [run, choice, named] = reference;
  const auto entries = list_checkpoints(run.checkpoints(), /*verify=*/false);
  if (entries.empty()) {
    fail(Exit::usage, text(key, ": the run ", run.root.string(), " has no checkpoint yet"),
         text("larmor train ", run.root.string(), " goes on with it"));
  }
  if (choice == "last") return {.entry = entries.front(), .why = "last"};
  if (choice == "best") {
    const auto* best = best_of(entries, lower_is_better);
    return best == nullptr ? ChosenCheckpoint{.entry = entries.front(), .why = "last"}
                           : ChosenCheckpoint{.entry = *best, .why = "best"};
  }
  const auto chosen = run.checkpoints() / choice;
  if (choice.starts_with("step-") && fs::exists(chosen))
    return {.entry = open_checkpoint(fs::canonical(chosen)), .why = ""};
  const auto near = nearest(choice, names_in(entries));
  fail(Exit::usage, text(key, ": ", run.root.string(), " has no checkpoint ", choice),
       text(near.empty() ? "" : text("did you mean #", near, "? "),
            "say #best, #last or the name of one: larmor checkpoint list ", run.root.string()));
}

CheckpointEntry require_whole(const std::string& key, const CheckpointReference& reference,
                              const CheckpointEntry& entry) {
  auto read = verify_checkpoint(fs::canonical(entry.folder));
  if (read.ok) return read;
  fail(Exit::checkpoint, text(key, ": the checkpoint ", read.folder.string(), " is damaged: ", read.reason),
       text("name another behind #: larmor checkpoint verify ", reference.run.root.string(),
            " says which are whole"));
}

std::string hash_in(const CheckpointEntry& entry, const std::string& name) {
  for (const auto& file : entry.manifest.at("files")) {
    if (file.at("name") == name) return file.at("sha256").get<std::string>();
  }
  return "";
}

}  // namespace larmor

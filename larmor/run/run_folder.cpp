#include "larmor/run/run_folder.h"

#include <system_error>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

void mark_ended(Storage& storage, const Clock& clock, const RunFolder& folder, int status,
                const std::string& reason) {
  Json json;
  json["status"] = status;
  json["reason"] = reason;
  json["when"] = utc_text(clock.wall_seconds());
  const bool done = status == 0;
  const auto newest = done ? std::nullopt : newest_committed(folder);
  if (!done) json["checkpoint"] = newest ? Json(newest->folder.filename().string()) : Json(nullptr);
  write_text(storage, folder.root / (done ? "DONE" : "FAILED"), to_text(json));
  remove_file(storage, folder.root / (done ? "FAILED" : "DONE"));
}

std::optional<CheckpointEntry> newest_committed(const RunFolder& folder) {
  for (auto& entry : list_checkpoints(folder.checkpoints(), /*verify=*/false)) {
    if (entry.ok) return std::move(entry);
  }
  return std::nullopt;
}

void require_newest_start(const RunFolder& folder, int64_t led) {
  const auto newest = read_fence(folder.generation_file());
  if (!newest || *newest <= led) return;
  fail(Exit::rank_lost,
       text("another start has taken over ", folder.root.string(), ": it is at generation ", *newest,
            " of the run, and this one has led generation ", led),
       "nothing is lost: the run goes on there, and nothing more is written here");
}

void mark_going_on(Storage& storage, const RunFolder& folder) {
  for (const char* mark : {"DONE", "FAILED"}) remove_file(storage, folder.root / mark);
}

std::string new_run_name(const Clock& clock, const std::string& workload, const std::string& stage) {
  return text(utc_text(clock.wall_seconds(), /*compact=*/true), "-", workload, stage.empty() ? "" : "-",
              stage);
}

std::string planned_run_name(const Clock& clock, const std::string& workload, const std::string& stage) {
  return text(new_run_name(clock, workload, stage), "-", ::getpid());
}

RunFolder find_run(const std::string& text_form, const fs::path& runs,
                   const std::map<std::string, std::string>& others) {
  for (const auto& root : {fs::path(text_form), runs / text_form}) {
    const RunFolder folder{root};
    if (folder.is_run()) return {fs::weakly_canonical(root)};
    std::error_code why;
    if (!fs::exists(folder.config(), why) && why) {
      fail(Exit::environment, text("cannot look into ", root.string(), ": ", why.message()),
           "whom the run folder belongs to has to let others read it");
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, said] : others) names.push_back(name);
  std::error_code absent;
  for (const auto& item : fs::directory_iterator(runs, absent)) {
    if (RunFolder{item.path()}.is_run()) names.push_back(item.path().filename().string());
  }
  const auto near = nearest(text_form, names);
  fail(Exit::usage,
       text("there is no run ", text_form, ": neither that folder nor ", (runs / text_form).string(),
            " holds a config.yaml"),
       !near.empty()    ? text("did you mean ", others.contains(near) ? others.at(near) : near, "?")
       : others.empty() ? "give the folder of a run, or its name below " + runs.string()
                        : std::string("give the folder of a run, or a workload of `larmor list`"));
}

}  // namespace larmor

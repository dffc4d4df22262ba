#include "app/train/train_end.h"

#include "larmor/base/clock.h"
#include "larmor/base/text.h"
#include "larmor/train/session.h"

#include "app/say.h"

namespace larmor::app {

void show_run(const Program& program, const RunFolder& folder, const std::string& metric,
              const std::string& status) {
  Json json;
  json["run"] = folder.root.string();
  const auto end = read_end(folder);
  json["steps"] = end.is_null() ? Json(0) : end["steps"];
  json["epochs"] = end.is_null() ? Json(0) : end["epochs"];
  json["seconds"] = end.is_null() ? Json(0) : end["seconds"];
  json["best"] = nullptr;
  if (!end.is_null() && !end["best"].is_null()) {
    json["best"] = {{"step", end["best"]["step"]}, {"metric", metric}, {"value", end["best"]["value"]}};
  }
  json["status"] = status;
  program.show(json, Lines("run: " + folder.root.string()));
}

int conclude_training(const Program& program, const RunFolder& folder, const std::string& metric, Exit exit,
                      Storage& storage) {
  const auto end = read_end(folder);
  const auto reason = end.is_null() ? std::string("ended") : end["reason"].get<std::string>();
  const bool by_signal = exit == Exit::stopped, goes_on = by_signal || reason == "step limit";
  if (!goes_on) mark_ended(storage, SystemClock(), folder, static_cast<int>(exit), reason);
  if (by_signal && !program.arguments().quiet)
    say("stopped with a complete checkpoint; go on with: larmor train " + folder.root.string());
  show_run(program, folder, metric, goes_on ? "stopped" : "done");
  return static_cast<int>(exit);
}

}  // namespace larmor::app

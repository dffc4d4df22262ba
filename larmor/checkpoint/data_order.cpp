#include "larmor/checkpoint/data_order.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/manifest.h"

namespace larmor {

void require_current_order(const CheckpointEntry& entry) {
  const Json manifest = open_manifest(entry.folder);
  if (manifest["format"] == checkpoint_format) return;
  fail(Exit::checkpoint,
       text("the checkpoint ", entry.folder.string(), " has format ", manifest["format"].dump(),
            ": its position counts along an order of examples that this program no longer has"),
       text("start a new run from its weights: model.weights=", (entry.folder / model_name).string(),
            " with another run.folder, or --resume never; evaluate, predict and export read it as it is"));
}

}  // namespace larmor

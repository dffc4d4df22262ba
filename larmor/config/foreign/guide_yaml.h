// The YAML of the guides' scripts (sections `training`, `data`, `model`, `deepspeed`, `wandb`) as a config of
// ours: what it says in our keys, and what of it means nothing here.
#pragma once

#include "larmor/config/foreign/deepspeed.h"

namespace larmor {

/// Whether a config is such a file: it has the section `training`, and none that only we have.
bool is_guide_yaml(const Node& root);
/// Values that cannot be are problems; every key gets a line.
Translation translate_guide_yaml(const Node& root, Problems& problems);

}  // namespace larmor

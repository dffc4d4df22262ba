// By itself, so that readers of lists of cases need no transform.
#include "larmor/transforms/transforms.h"

namespace larmor {

bool is_mask(std::string_view name) { return name == "mask" || name.starts_with("mask_"); }

}  // namespace larmor

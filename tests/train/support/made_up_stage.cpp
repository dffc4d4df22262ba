#include "tests/train/support/made_up_stage.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::testing {

WorkloadFields MadeUpStage::fields() {
  return {.model = [this](Fields& f) { f.field("width", width_, "how wide it is"); },
          .loss = [](Fields&) {},
          .objectives = {}};
}

void MadeUpStage::check(const RunConfig&) const {
  if (width_ > 100) fail(Exit::usage, text("model.width is ", width_), "say 100 at most");
}

std::vector<int64_t> MadeUpStage::prediction_window(const RunConfig&) const {
  return {width_, width_, width_};
}

Workload made_up_workload() {
  const auto make = [] { return std::make_unique<MadeUpStage>(); };
  return {"made_up", {{.name = "first", .make = make}, {.name = "second", .make = make}}};
}

}  // namespace larmor::testing

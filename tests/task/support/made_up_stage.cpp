#include "tests/task/support/made_up_stage.h"

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

PredictionForm MadeUpStage::prediction(const RunConfig&) const {
  return {.inputs = {}, .transforms = Json::array({width_})};
}

Workload made_up_workload() {
  const auto make = [] { return std::make_unique<MadeUpStage>(); };
  return {"made_up", {{.name = "first", .make = make}, {.name = "second", .make = make}}};
}

}  // namespace larmor::testing

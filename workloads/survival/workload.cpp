#include "workloads/survival/workload.h"

#include <memory>

#include "workloads/survival/risk/risk_stage.h"

namespace larmor::survival {

Workload make_workload() {
  const auto make = [] { return std::make_unique<RiskStage>(); };
  return {"survival",
          {{.name = "risk",
            .make = make,
            .needs = {},
            .purpose = "the risk of an event, of a volume, by a 3-D ResNet with Cox's loss",
            .data = "a table (data.list=FILE.csv) of volumes with the time and whether the event came"}},
          {.flags = {{"resnet", "say `model.depth=18` (or 10, 34, 50, …)"},
                     {"freeze-epochs", "say `model.freeze_epochs=`"},
                     {"eval-years", "say `data.horizons=[1y, 2y]`"},
                     {"fold-column", "say `data.columns.fold=`"},
                     {"train-fold", "say `data.folds.train=[…]`"},
                     {"val-fold", "say `data.folds.val=[…]`"}},
           .scripts = {"quick_start_multi_gpu.py", "launch_distributed_training.py",
                       "finetune_survival_distributed.py"},
           .batch_is_of_all = true}};
}

}  // namespace larmor::survival

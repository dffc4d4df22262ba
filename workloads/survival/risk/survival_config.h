// What survival adds to the config: its table, its network, its loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/config/run_config.h"
#include "larmor/nn/networks/resnet.h"

#include "workloads/survival/risk/covariates.h"
#include "workloads/survival/risk/cox_loss.h"
#include "workloads/survival/risk/table.h"

namespace larmor::survival {

struct SurvivalConfig {
  // data
  TableColumns columns;
  TableFolds folds;
  CovariateColumns covariates;
  std::string time_unit = "d";
  std::vector<std::string> horizons;  // empty: chosen from the training table
  int64_t cohort_cases = 600;
  std::vector<int64_t> cohort_size = {32, 32, 32};
  int64_t cohort_seed = 0;
  // model
  nn::ResNetOptions network;
  std::string weights;  // a safetensors file to start from
  int64_t freeze_epochs = 0;
  double covariate_rate = 100;
  // loss
  CoxTies ties = CoxTies::breslow;
  int64_t events_per_batch = 0;
  int64_t baseline_cases = 256;  // 0: all
  // of the run
  bool validates_average = false;

  void describe_data(Fields& f);
  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  /// Throws Error (usage): combinations that cannot work.
  void check(const RunConfig& config) const;
};

}  // namespace larmor::survival

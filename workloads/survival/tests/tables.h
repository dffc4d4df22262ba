// Tables of patients: stored ones, and random ones with ties and heavy censoring.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/device/tensors/tensor_file.h"

#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival::testing {

/// Log-risks and what became of the patients.
struct Patients {
  std::vector<double> log_risk;
  SurvivalOutcomes outcomes;
};

/// A file of golden/.
NamedTensors golden_file(const std::string& name);
std::vector<double> doubles(const at::Tensor& tensor);
/// table_<name>/{risk,time,event} of survival.safetensors.
Patients golden_patients(const NamedTensors& golden, const std::string& name);

/// `rows` patients with times 1 to `last_time`, risks of one digit, and about `event_share` of events.
Patients random_patients(uint64_t seed, std::size_t rows, uint64_t last_time, double event_share);

}  // namespace larmor::survival::testing

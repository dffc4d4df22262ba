#include "workloads/survival/tests/tables.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <ATen/ATen.h>

#include "larmor/base/seed.h"

namespace larmor::survival::testing {

NamedTensors golden_file(const std::string& name) {
  const char* source = std::getenv("LARMOR_SOURCE");
  const std::filesystem::path folder = source != nullptr ? source : std::filesystem::current_path();
  return read_tensors(folder / "workloads" / "survival" / "tests" / "golden" / (name + ".safetensors"));
}

std::vector<double> doubles(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

Patients golden_patients(const NamedTensors& golden, const std::string& name) {
  Patients patients{.log_risk = doubles(golden.at("table_" + name + "/risk")),
                    .outcomes = {.time = doubles(golden.at("table_" + name + "/time")), .event = {}}};
  for (const double event : doubles(golden.at("table_" + name + "/event")))
    patients.outcomes.event.push_back(static_cast<uint8_t>(event));
  return patients;
}

Patients random_patients(uint64_t seed, std::size_t rows, uint64_t last_time, double event_share) {
  Draws draws(make_key(seed, 0, 0, "patients"));
  Patients patients;
  for (std::size_t row = 0; row < rows; ++row) {
    patients.log_risk.push_back(std::round(10 * draws.normal()) / 10);
    patients.outcomes.time.push_back(static_cast<double>(1 + draws.below(last_time)));
    patients.outcomes.event.push_back(draws.uniform() < event_share ? 1 : 0);
  }
  return patients;
}

}  // namespace larmor::survival::testing

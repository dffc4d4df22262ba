// Metrics that keep nothing, of cases whose patients a test decides.
#pragma once

#include <cstdint>
#include <string>

#include "larmor/task/metrics.h"

namespace larmor::testing {

/// Case i is patient i's, and those of so many patients come one after the other, again and again.
class CasesOfPatients final : public Metrics {
 public:
  explicit CasesOfPatients(int64_t patients, ValidationDepth depth = ValidationDepth::full)
      : patients_(patients), depth_(depth) {}
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string&, int64_t, double) override {}
  void figure(const std::string&, const SplitMetric&) override {}
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return false; }
  ValidationDepth depth() const override { return depth_; }
  std::string patient(int64_t example) const override { return Metrics::patient(example % patients_); }

 private:
  int64_t patients_;
  ValidationDepth depth_;
};

}  // namespace larmor::testing

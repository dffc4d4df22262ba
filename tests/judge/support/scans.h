// A dataset of which only the names and the patients are asked for.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "larmor/data/dataset.h"

namespace larmor::testing {

/// Scans of patients: what name() and patient() say is all there is.
class Scans final : public Dataset {
 public:
  using NameAndPatient = std::pair<std::string, std::string>;
  Scans(std::initializer_list<NameAndPatient> scans) : scans_(scans) {}
  explicit Scans(std::vector<NameAndPatient> scans) : scans_(std::move(scans)) {}
  int64_t size() const override { return std::ssize(scans_); }
  Sample get(const ExampleKey&) const override { return {}; }
  std::string name(int64_t example) const override { return scans_.at(static_cast<size_t>(example)).first; }
  std::string patient(int64_t example) const override {
    return scans_.at(static_cast<size_t>(example)).second;
  }

 private:
  std::vector<NameAndPatient> scans_;
};

}  // namespace larmor::testing

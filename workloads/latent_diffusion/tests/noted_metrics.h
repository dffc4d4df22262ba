// What a task notes of cases and reports of a split, for tests to look at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

class NotedMetrics final : public Metrics {
 public:
  void value(const std::string&, int64_t, double) override {}
  void note(const std::string& name, int64_t example, double value) override {
    cases[name].emplace_back(example, value);
  }
  void figure(const std::string& name, const SplitMetric& figure) override { figures[name] = figure.value; }
  void picture(const std::string&, const Image&) override {}
  bool wants_pictures() const override { return pictures; }
  std::optional<Affine> grid(int64_t) const override { return identity_affine(); }
  void show(const std::string& name, const Panel&, PanelCase one) override {
    shown.emplace_back(name, std::move(one));
  }
  void show_beside(const std::string& name, const std::string& case_name, PanelImage image) override {
    for (auto& [shown_name, one] : shown) {
      if (shown_name == name && one.name == case_name) one.images.push_back(std::move(image));
    }
  }
  std::optional<ReferenceCase> reference_case(int64_t example) const override {
    if (const auto found = training.find(example); found != training.end()) return found->second;
    return std::nullopt;
  }
  ValidationDepth depth() const override { return wanted_depth; }
  bool of_reference() const override { return reference; }

  bool reference = false;  // the cases are those of Stage::reference()
  bool pictures = false;
  ValidationDepth wanted_depth = ValidationDepth::full;
  std::map<int64_t, ReferenceCase> training;
  std::vector<std::pair<std::string, PanelCase>> shown;
  CaseValues cases;
  std::map<std::string, double> figures;
};

}  // namespace larmor::latent_diffusion

// The cases that a validation shows, collected into panels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/image.h"
#include "larmor/data/dataset.h"
#include "larmor/draw/panel.h"
#include "larmor/task/metrics.h"

namespace larmor {

/// What metrics know of the cases of a dataset, whose rank 0 shows some.
class ShownCases : public Metrics {
 public:
  /// Borrows the dataset. `ranks`: that go through it by turns.
  ShownCases(const Dataset& dataset, int64_t ranks);

  std::string patient(int64_t example) const override { return dataset_.patient(example); }
  std::string case_name(int64_t example) const override;
  std::optional<Affine> grid(int64_t example) const override { return dataset_.grid(example); }
  Caption caption(int64_t example) const override { return dataset_.caption(example); }
  std::optional<int64_t> shown_as(int64_t example) const override;
  void show(const std::string& name, const Panel& frame, PanelCase one) override;
  void show_beside(const std::string& name, const std::string& case_name, PanelImage image) override;

  void picture(const std::string& name, const Image& image) override { pictures_.emplace_back(name, image); }
  /// Those of another one, behind the own.
  void take_pictures(ShownCases& more);
  /// All pictures by name, with the panels.
  std::vector<std::pair<std::string, Image>> drawn_pictures() const;

 protected:
  /// Names the constructor that takes the same dataset, with nothing collected yet.
  struct SameCases {};
  ShownCases(const ShownCases& like, SameCases) : dataset_(like.dataset_), shown_(like.shown_) {}

 private:
  const Dataset& dataset_;
  std::shared_ptr<const std::vector<int64_t>> shown_;  // examples
  std::vector<std::pair<std::string, Image>> pictures_;
  std::map<std::string, Panel> panels_;
};

}  // namespace larmor

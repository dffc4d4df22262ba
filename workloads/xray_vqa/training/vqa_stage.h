// A stage of xray_vqa: questions about radiographs, and the network that answers them. Both stages are this
// one; the second begins with the weights of the first.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "larmor/task/stage.h"

#include "workloads/xray_vqa/data/training_counts.h"
#include "workloads/xray_vqa/training/vqa_config.h"
#include "workloads/xray_vqa/training/vqa_task.h"

namespace larmor::xray_vqa {

class VqaStage final : public Stage {
 public:
  WorkloadFields fields() override;
  void check(const RunConfig& config) const override;
  /// Refuses files of weights that are not there or do not fit.
  void check_start(const Sample& first) const override;
  Index index(const RunConfig& config) const override;
  Index index_shown(const RunConfig& config, const ShowsProgress& shows) const override;
  Index found(const RunConfig& config) const override;
  std::vector<ObjectiveGroup> groups(const RunConfig& config) const override;
  Demand demand(const RunConfig& config, const Index& index) const override;
  std::unique_ptr<Dataset> dataset(const RunConfig& config, const Index& index, Split split) const override;
  /// Training questions for the baselines, which no network has to look at.
  std::unique_ptr<Dataset> reference(const RunConfig& config, const Index& index,
                                     ValidationDepth depth) const override;
  /// The id of the study and the words of the question.
  CaseColumns facts(const RunConfig& config, const Index& index, Split split) const override;
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override;
  /// The vocabulary, names of regions and entities, and what training has examples of.
  std::map<std::string, std::string> keeps(const RunConfig& config, const Index& index) const override;
  /// A radiograph and a question; the type of the question and boxes, where a person knows them.
  PredictionForm prediction(const RunConfig& config) const override;

 private:
  VqaSurroundings surroundings() const;
  /// The section `data`, with the run's files in place of those that its paths name.
  QuestionData questions() const;
  /// What the run learnt, and the run that it began with; nothing where that is not known.
  std::optional<TrainingCounts> learnt() const;

  VqaConfig config_;
};

}  // namespace larmor::xray_vqa

// Learns to answer questions about radiographs, and CheXpert's labels beside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/task.h"
#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/training_counts.h"
#include "workloads/xray_vqa/training/vqa_config.h"

namespace larmor::xray_vqa {

/// What a task needs besides its config.
struct VqaSurroundings {
  std::shared_ptr<const WordPiece> tokenizer;
  Vocabularies vocabularies;  // names of answers
  /// Not null: the run of a stage before this one, where its weights start.
  std::shared_ptr<const EarlierRuns> earlier;
  /// The counts of the data that the weights come from; nothing where that is not known.
  std::optional<TrainingCounts> learnt = {};
};

class VqaTask final : public Task {
 public:
  /// A new network is drawn from `seed`. On c10::kMeta nothing is drawn or stored, and the network is there
  /// to be counted.
  VqaTask(const VqaConfig& config, VqaSurroundings surroundings, uint64_t seed,
          c10::Device device = c10::kCPU);

  std::vector<Objective> objectives() override;
  /// Weights of encoders from files, or all of them from the earlier run. Throws Error as start_from.
  void start() override;
  /// Questions of each head, labels, and examples.
  int64_t counted() const override { return heads + 2; }
  at::Tensor counts(const Batch& batch) override;
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override;
  /// The pass, by which encoders are frozen.
  std::optional<int64_t> fixed_pass(const StepContext& context) const override {
    return (is_frozen("image", context.epoch) ? 1 : 0) + (is_frozen("text", context.epoch) ? 2 : 0);
  }
  void validate(const Batch& batch, Metrics& metrics) override;
  void summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) override;
  DeclaredFigures figures() const override;
  /// What each question is, what was to be answered and what was, with the scene and, where it has one,
  /// without it; and the labels of its study.
  CaseColumns case_columns(const CaseValues& cases) const override;
  std::vector<ScoredTruths> scores(const CaseValues& cases) const override;
  /// Words: answer, head, and of boxes that are given the one that the question looks at most. Numbers: the
  /// answer's probability, that of each label, and the box's share of attention. Picture: saliency.
  /// What training saw no example of is missing.
  Prediction predict(const Batch& inputs, const PredictionContext& context) override;
  std::string missing_values() const override;

 private:
  /// The state of an encoder, without gradient while it is frozen.
  VqaOutputs pass(const VqaInputs& inputs, int64_t epoch);
  bool is_frozen(const char* encoder, int64_t epoch) const;
  void note_questions(const Batch& batch, const at::Tensor& has_scene, Metrics& metrics) const;
  /// `inputs`: what the network was given, as it stands behind the names of notes.
  void note_answers(const Batch& batch, const VqaOutputs& outputs, const std::string& inputs,
                    Metrics& metrics) const;
  void note_labels(const Batch& batch, const VqaOutputs& outputs, const std::string& inputs,
                   Metrics& metrics) const;

  /// The image encoder's; the same picture is looked at once, however much is asked about it.
  at::Tensor map_of_picture(const at::Tensor& picture, const PredictionContext& context);

  const VqaConfig config_;
  const VqaSurroundings surroundings_;
  VqaNetwork network_{nullptr};
  std::vector<ParameterRule> rules_;
  struct {
    at::Tensor picture, map;
  } seen_;  // by predict(), last
};

}  // namespace larmor::xray_vqa

// What a split of questions comes to: how many answers are right, for each head and beside what nobody had to
// look for, how well labels are told apart, and whether probabilities mean what they say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "larmor/task/metrics.h"

#include "workloads/xray_vqa/data/chexpert.h"
#include "workloads/xray_vqa/data/question_types.h"
#include "workloads/xray_vqa/network/vqa_loss.h"

namespace larmor::xray_vqa {

/// Names under which a task notes a question's values for Answered::from().
namespace note {
inline constexpr const char *head = "head", *type = "type", *study = "study", *words = "words";
inline constexpr const char *answer = "answer", *given = "given";
inline constexpr const char *confidence = "confidence", *cross_entropy = "cross_entropy";
inline constexpr const char *label = "label_", *probability = "probability_";  // and the label's number
/// What stands behind the names of what the network says: of the picture alone, and of the scene without the
/// picture.
inline constexpr const char *without_scene = "_without_scene", *blind = "_blind";
inline constexpr const char* scene = "scene";                  // 1 where the study has one
inline constexpr const char* label_entropy = "label_entropy";  // summed over labels
}  // namespace note

/// A question whose answer is known.
struct Answered {
  int64_t example = 0, head = 0, type = 0;
  double words = 0;                   // a number that equal questions share
  int64_t answer = 0, given = 0;      // classes of the head; -1 where nothing was given
  std::optional<int64_t> blind = {};  // what the network says without the image
  double confidence = 0, cross_entropy = 0;
  bool has_scene = false;  // the network was given more of the study than its picture
};

/// One label of one study that counts, from the first of its questions.
struct LabelSeen {
  int64_t example = 0, label = 0;
  double truth = 0, probability = 0;
};

/// What the labels of a question's study add to the loss.
struct LabelLoss {
  int64_t example = 0, labels = 0;
  double entropy = 0;  // summed over them
};

struct SplitAnswers {
  std::vector<Answered> questions;
  std::vector<LabelSeen> labels;        // of each study once
  std::vector<LabelLoss> label_losses;  // of every question, as training counts them

  static SplitAnswers from(const CaseValues& cases);
  /// What the network says of the pictures alone.
  static SplitAnswers without_scene(const CaseValues& cases);
};

/// What is answered without an image: of each type, and of each wording, the most frequent class in training.
class Baselines {
 public:
  explicit Baselines(std::span<const Answered> training);
  int64_t of_type(const Answered& question) const;
  /// The class of the wording; of the type where training had no such wording.
  int64_t of_words(const Answered& question) const;

 private:
  std::map<int64_t, int64_t> by_type_;
  std::map<std::pair<int64_t, double>, int64_t> by_words_;
};

/// Area under the ROC curve; ties count for half. Nothing where fewer than ten count, or all are alike.
std::optional<double> auroc(std::span<const LabelSeen* const> labels);
/// Mean over the classes that are asked for or given of 2 P R / (P + R); nothing without a question.
std::optional<double> macro_f1(std::span<const Answered* const> questions);
/// Those of an interval of confidence: their number, and sums over them.
struct ReliabilityBin {
  int64_t answers = 0;
  double confidence = 0, right = 0, difference = 0;  // right - confidence
};
/// 15 of equal width.
std::vector<ReliabilityBin> reliability_bins(std::span<const double> confidence,
                                             std::span<const double> truth);
/// Expected calibration error over those bins. Source: Guo et al. 2017.
double calibration_error(std::span<const double> confidence, std::span<const double> truth);

/// Records loss, accuracy (beside its baselines), figures of each head and of each label; where the metrics
/// want them with bootstrap intervals over patients, each drawn with all their questions. `alone` are the
/// answers of the pictures alone: of them accuracy_without_scene and, at full depth, all that the network
/// says, with sentences on what the two kinds of figure stand for.
void record_vqa_figures(const SplitAnswers& answers, const SplitAnswers& alone, const Baselines& baselines,
                        const LossWeights& weights, Metrics& metrics);

}  // namespace larmor::xray_vqa

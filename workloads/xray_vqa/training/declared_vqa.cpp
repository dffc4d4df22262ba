#include "workloads/xray_vqa/training/declared_vqa.h"

#include <string>

#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/question_types.h"
#include "workloads/xray_vqa/training/vqa_figures.h"

namespace larmor::xray_vqa {
namespace {

constexpr const char* from_pictures = "nothing is known to have been learnt from the pictures";

Baseline baseline_of_pictures(const char* name) {
  return {.name = name, .if_worse = from_pictures, .if_not_told_apart = from_pictures};
}

/// `inputs`: what stands behind the names; `of`: what the figures are of.
void declare_network(const std::string& inputs, const std::string& of, DeclaredFigures& figures) {
  using enum Better;
  figures.push_back({.name = "auroc" + inputs,
                     .better = higher,
                     .meaning = text("area under the ROC curve, mean over labels", of),
                     .baselines = {{.name = "chance", .value = 0.5}}});
  figures.push_back({.name = "auroc_deviation" + inputs, .meaning = "of the labels' areas from their mean"});
  figures.push_back(
      {.name = "ece" + inputs,
       .better = lower,
       .meaning = text("how far the answers' probabilities are from how often they are right", of)});
  figures.push_back({.name = "ece_labels" + inputs,
                     .better = lower,
                     .meaning = text("the same of the labels' probabilities", of)});
  for (const char* head : head_names) {
    figures.push_back({.name = text("accuracy_", head, inputs),
                       .better = higher,
                       .meaning = text("share of right answers of this kind", of)});
    figures.push_back({.name = text("f1_", head, inputs),
                       .better = higher,
                       .meaning = text("mean over the classes of F1", of)});
  }
  figures.push_back({.name = text("precision_", head_names[0], inputs),
                     .better = higher,
                     .meaning = text("share of right ones among the answers yes", of)});
  figures.push_back({.name = text("recall_", head_names[0], inputs),
                     .better = higher,
                     .meaning = text("share of the questions to be answered yes that are", of)});
}

}  // namespace

DeclaredFigures declared_vqa_figures() {
  using enum Better;
  DeclaredFigures figures{
      {.name = "loss", .better = lower, .meaning = "weighted cross entropies of answers and labels"},
      {.name = "accuracy",
       .better = higher,
       .meaning = "share of right answers, with the scene where a study has one",
       .baselines = {{.name = "accuracy_majority"}, baseline_of_pictures("accuracy_image_blind")}},
      {.name = "accuracy_without_scene",
       .better = higher,
       .meaning = "share of right answers of the picture alone, as predict gives them",
       .baselines = {baseline_of_pictures("accuracy_majority")}},
      {.name = "accuracy_majority",
       .better = higher,
       .meaning = "of the most frequent answer to each type of question"},
      {.name = "accuracy_question_only",
       .better = higher,
       .meaning = "of the most frequent answer to each wording"},
      {.name = "accuracy_image_blind", .better = higher, .meaning = "of the network before a blank picture"},
  };
  declare_network("", "", figures);
  declare_network(note::without_scene, ", of the picture alone", figures);
  return figures;
}

}  // namespace larmor::xray_vqa

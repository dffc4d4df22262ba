// What a table of cases has of each question.
#pragma once

#include <vector>

#include "larmor/task/case_columns.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/training/vqa_figures.h"

namespace larmor::xray_vqa {

/// The columns of each question with a known answer: type, head, truth, answer, probability and right, and
/// the last three again as `alone` has them, behind whose names stands _without_scene. Of the first question
/// of each study the probabilities of its labels and, under <label>_truth, whether it has them.
CaseColumns columns_of_questions(const SplitAnswers& answers, const SplitAnswers& alone,
                                 const Vocabularies& vocabularies);

/// "binary", the probability of yes of each question that is answered by yes or no, and each label that
/// counts in some study; and the same of the pictures alone, under names that end in _without_scene.
std::vector<ScoredTruths> scores_of(const SplitAnswers& answers, const SplitAnswers& alone);

}  // namespace larmor::xray_vqa

// What all answers together look like: whether confidence means what it says, and which answers are taken for
// which.
#pragma once

#include <string>

#include "larmor/task/metrics.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/training/vqa_figures.h"

namespace larmor::xray_vqa {

/// The pictures `reliability` and, of each head that has questions, `confusion_<head>`; `inputs` stands
/// behind their names, as behind those of the figures, and `of` in their titles: "the picture alone". A
/// remark says why one is not there.
void draw_answer_charts(const SplitAnswers& answers, const std::string& inputs, const std::string& of,
                        const Vocabularies& vocabularies, Metrics& metrics);

}  // namespace larmor::xray_vqa

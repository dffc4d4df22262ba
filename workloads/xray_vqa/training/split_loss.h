// The loss of a whole split, as training counts it: each head over its own questions, labels over those that
// count.
#pragma once

#include "larmor/task/metrics.h"

#include "workloads/xray_vqa/network/vqa_loss.h"
#include "workloads/xray_vqa/training/vqa_figures.h"

namespace larmor::xray_vqa {

/// The loss at full depth with its interval over patients.
SplitMetric loss_figure(const SplitAnswers& answers, const LossWeights& weights, Metrics& metrics);

}  // namespace larmor::xray_vqa

// A question, its answer and what the answer goes by, for a person to look at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

/// An answer of a head, and how probable it is by the network.
struct GivenAnswer {
  int64_t answer = 0;
  double probability = 0;
};

/// What a head says: logits [classes].
GivenAnswer given_by(const at::Tensor& logits);

struct AnsweredExample {
  at::Tensor image;     // [3, S, S], as samples have it
  at::Tensor saliency;  // class_activation() of `given`
  Head head = Head::binary;
  int64_t truth = 0;
  GivenAnswer given;                           // of the picture alone
  std::optional<GivenAnswer> with_scene = {};  // where the study has one
};

/// The rows of a batch that are this one's.
VqaInputs one_row(const VqaInputs& inputs, int64_t row);

/// One more case of the picture `examples`: the radiograph, the same under its saliency, and in words the
/// question, the answer with its probability, the truth, and whether it was right.
void show_answered(const AnsweredExample& example, const Vocabularies& vocabularies, int64_t number,
                   Metrics& metrics);

}  // namespace larmor::xray_vqa

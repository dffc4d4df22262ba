// Invented chest radiographs whose findings are known: lungs, a heart, ribs, and in each lung one finding or
// none. Nothing but the image tells what a study has: boxes and regions are those of a body without findings.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {

/// The phantoms' regions, by place in their list.
enum class PhantomRegion : int8_t { right_lung, left_lung, heart, spine };

struct PhantomFinding {
  int64_t label = 0;  // CheXpert's: lesion, effusion, pneumothorax, cardiomegaly or support devices
  PhantomRegion region = PhantomRegion::right_lung;  // of a device: the side on which it ends
  int64_t severity = 0;                              // 1 to 3; 0 for a device
  Box box = {};                                      // in which it is seen
};

struct PhantomTruth {
  std::vector<PhantomFinding> findings;
  Labels labels;                     // the six that the phantoms have; the others are masked
  std::vector<SceneObject> anatomy;  // where a body has its parts, whatever the findings

  const PhantomFinding* find(int64_t label, PhantomRegion region) const;
  int64_t count(int64_t label) const;
};

/// The labels that phantoms may have besides No Finding.
const std::array<int64_t, 5>& phantom_labels();
/// Their regions and entities.
const Vocabularies& phantom_vocabularies();

/// Study `number` of the phantoms with `seed`. A lung has a lesion, an effusion or a pneumothorax with a
/// probability of 0.2 each; the heart is too large with 0.4; a device lies there with 0.5. Severities are
/// evenly spread.
PhantomTruth phantom_truth(uint64_t seed, int64_t number);

/// The radiograph, [size, size] float32 in [0, 1], rows from the head down; the patient's right is on the
/// left.
at::Tensor make_xray(uint64_t seed, int64_t number, int64_t size);

}  // namespace larmor::xray_vqa

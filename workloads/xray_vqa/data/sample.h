// What a training example of xray_vqa holds: one question about one radiograph, and what is known of both.
// Shapes are the same for all examples of a run, so that a batch is a stack of them.
#pragma once

#include <cstdint>

namespace larmor::xray_vqa::sample {

// Names of tensors. S, L and O are image size, question length and most objects of SampleSizes.
inline constexpr const char* image = "image";    // [3, S, S] float32, rows then columns; ImageNet-normalised
inline constexpr const char* tokens = "tokens";  // [L] int64: ids of the question, [CLS] first, padded
inline constexpr const char* tokens_mask = "tokens_mask";    // [L] bool: true where there is no padding
inline constexpr const char* boxes = "boxes";                // [O, 4] float32: x1 y1 x2 y2 in [0, 1]
inline constexpr const char* regions = "regions";            // [O] int64: 0 for one that is not known
inline constexpr const char* entities = "entities";          // [O] int64: 0 for one that is not known
inline constexpr const char* objects_mask = "objects_mask";  // [O] bool; the first object is always there
inline constexpr const char* type = "type";                  // [] int64: place in question_types()
inline constexpr const char* head = "head";                  // [] int64: a Head, or -1: none answers it
inline constexpr const char* answer = "answer";              // [] int64: class of that head, or -1: not known
inline constexpr const char* labels = "labels";              // [14] float32: CheXpert's, as CheXpertLabel
inline constexpr const char* labels_mask = "labels_mask";    // [14] bool: true where the label counts
// [] int64: the study's number in the split. Questions of a study share image, objects and labels, so a
// figure over labels takes each study once.
inline constexpr const char* study = "study";

}  // namespace larmor::xray_vqa::sample

namespace larmor::xray_vqa {

inline constexpr int64_t region_ids = 311, entity_ids = 238;  // rows of the embeddings: 0 is none of them

struct SampleSizes {
  int64_t image = 224, question = 128, objects = 24;
};

/// What ImageNet's colours are brought to mean 0 and deviation 1 by, of values in [0, 1].
inline constexpr float imagenet_mean[] = {0.485F, 0.456F, 0.406F};
inline constexpr float imagenet_deviation[] = {0.229F, 0.224F, 0.225F};

}  // namespace larmor::xray_vqa

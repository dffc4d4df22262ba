// One question as data sources know it, and the sample that it becomes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/data/dataset.h"
#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/chexpert.h"
#include "workloads/xray_vqa/data/question_types.h"
#include "workloads/xray_vqa/data/sample.h"

namespace larmor::xray_vqa {

/// Corners as shares of the image's width and height, 0 at its upper left.
struct Box {
  float x1 = 0, y1 = 0, x2 = 1, y2 = 1;
  bool operator==(const Box&) const = default;
};

/// Whether it is a box of more than nothing within the image.
bool lies_inside(const Box& box);

/// A thing of the scene graph; ids as the embeddings take them.
struct SceneObject {
  Box box;
  int64_t region = 0, entity = 0;
  bool operator==(const SceneObject&) const = default;
};

/// Boxes as people write them, "x1 y1 x2 y2; …", of no region and no entity. Throws Error (usage): what is no
/// box, or lies outside the picture.
std::vector<SceneObject> objects_in_words(const std::string& words);

/// A dataset whose examples are questions, which can be shown in words.
class QuestionSource : public Dataset {
 public:
  virtual std::string study(int64_t example) const = 0;  // its id
  virtual std::string question(int64_t example) const = 0;
};

using Labels = std::array<Label, chexpert_labels>;

struct QuestionFacts {
  std::string question;
  int64_t type = 0;     // place in question_types()
  int64_t answer = -1;  // class of the type's head, -1 where it is not known
  int64_t study = 0;
  std::vector<SceneObject> objects;
  Labels labels;
};

/// Everything but the image: keys and shapes as sample.h says. Of more objects than there is room for the
/// first ones are taken; without any there is one, the whole image, of no region and no entity.
Sample sample_of(const QuestionFacts& facts, const WordPiece& tokenizer, const SampleSizes& sizes);

/// Grey values [S, S] in [0, 1] as the image of a sample, [3, S, S].
at::Tensor image_of_grey(const at::Tensor& grey);

}  // namespace larmor::xray_vqa

// What a person asks of a trained network in words, as the tensors that it reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/question_facts.h"
#include "workloads/xray_vqa/data/question_types.h"
#include "workloads/xray_vqa/data/sample.h"
#include "workloads/xray_vqa/network/vqa_network.h"

namespace larmor::xray_vqa {

struct Asked {
  Head head = Head::binary;
  VqaInputs inputs;             // of one row; the image is not there yet
  std::vector<Box> boxes = {};  // those that were given
};

/// The head that answers a question whose type nobody gives, by its first words: "Where …" the region, "How
/// severe …" the severity, "Is …" or another verb yes or no, and all others the category.
Head head_of_words(std::string_view question);

/// What is asked, from the texts `question`, and where they are given `type`, a question type of the dataset,
/// and of the scene either `boxes`, "x1 y1 x2 y2; …" as shares of the picture, or `objects`, as
/// objects_in_json(). Throws Error (usage): an empty question, a type that no head answers, boxes that are
/// none, both of the scene, or more of it than the network takes; and as objects_in_json().
Asked asked_of(const std::map<std::string, std::string, std::less<>>& texts, const SampleSizes& sizes,
               const WordPiece& tokenizer, const Vocabularies& vocabularies);

/// What white is in a picture of whole numbers or of shares, by its brightest pixel: 1, or all bits_in_use().
double white_of(const at::Tensor& picture);

/// A picture as it is read [1, C, columns, rows, 1], of grey or of three colours, in [0, 1] or up to 255, as
/// the image of a sample with a row in front, [1, 3, size, size]. Throws Error (data) for other shapes.
at::Tensor radiograph_of(const at::Tensor& picture, int64_t size);

}  // namespace larmor::xray_vqa

// Questions of a split, read from tables and pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/sample.h"

namespace larmor::xray_vqa {

/// The value of a case that is its row in the table of studies.
inline constexpr const char* study_row = "study_row";

/// The most questions that pictures show.
inline constexpr std::size_t most_shown_questions = 8;

/// The few questions that pictures show, of examples that are the questions of studies, those of a study one
/// after the other: answered ones that `stride` divides, each of another study, and of one study after the
/// other the first, the second, … of them, so that they are of several kinds. `study_of` gives each example's
/// study, `is_answered` whether a head answers it and the answer is known.
std::vector<int64_t> shown_questions(int64_t examples, int64_t stride,
                                     const std::function<int64_t(int64_t)>& study_of,
                                     const std::function<bool(int64_t)>& is_answered);

/// Examples are the questions of the split's studies, those of a study one after the other. Holds
/// 28 bytes a study, and each patient's name. Throws Error (data): tables that do not fit the index.
std::unique_ptr<Dataset> table_dataset(const Index& index, Split split, const WordPiece& tokenizer,
                                       const SampleSizes& sizes);

}  // namespace larmor::xray_vqa

// Questions of a split, read from tables and pictures.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/sample.h"

namespace larmor::xray_vqa {

/// The value of a case that is its row in the table of studies.
inline constexpr const char* study_row = "study_row";

/// Examples are the questions of the split's studies, those of a study one after the other. Holds
/// 24 bytes a study, and each patient's name. Throws Error (data): tables that do not fit the index.
std::unique_ptr<Dataset> table_dataset(const Index& index, Split split, const WordPiece& tokenizer,
                                       const SampleSizes& sizes);

}  // namespace larmor::xray_vqa

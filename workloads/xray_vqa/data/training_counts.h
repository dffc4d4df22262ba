// How many training questions there are for each head, and how many that come with each label: of what no
// example has said anything a network knows nothing.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"

#include "workloads/xray_vqa/data/chexpert.h"
#include "workloads/xray_vqa/data/question_data.h"
#include "workloads/xray_vqa/data/question_types.h"

namespace larmor::xray_vqa {

struct TrainingCounts {
  std::array<int64_t, heads> of_heads{};
  std::array<int64_t, chexpert_labels> of_labels{};  // questions about a study whose label counts
  bool operator==(const TrainingCounts&) const = default;
  TrainingCounts& operator+=(const TrainingCounts& other);
};

/// The counts of the training split, from its rows; no image is read.
TrainingCounts count_training(const QuestionData& questions, const DataConfig& data, const Index& index);

/// {"heads": {name: n}, "labels": {name: n}}
Json to_json(const TrainingCounts& counts);
/// Throws Error (checkpoint) where the file holds no such counts.
TrainingCounts read_training_counts(const std::filesystem::path& file);

/// A line for who predicts: which labels and heads nothing was learnt of, and what to do. Empty where there
/// is none.
std::string what_was_not_learnt(const TrainingCounts& counts);

}  // namespace larmor::xray_vqa

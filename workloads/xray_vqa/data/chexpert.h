// The fourteen labels of CheXpert, which are also the classes of the category head.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace larmor::xray_vqa {

inline constexpr int64_t chexpert_labels = 14;

/// The names, in the order of the category head's classes, whatever order a table has them in.
inline constexpr std::array<std::string_view, chexpert_labels> chexpert_names = {"Atelectasis",
                                                                                 "Cardiomegaly",
                                                                                 "Consolidation",
                                                                                 "Edema",
                                                                                 "Enlarged Cardiomediastinum",
                                                                                 "Fracture",
                                                                                 "Lung Lesion",
                                                                                 "Lung Opacity",
                                                                                 "Pleural Effusion",
                                                                                 "Pneumonia",
                                                                                 "Pneumothorax",
                                                                                 "Pleural Other",
                                                                                 "Support Devices",
                                                                                 "No Finding"};

/// What becomes of a label that a report leaves open (-1): it is masked, or counts as 1, 0 or one half.
enum class Uncertain : int8_t { ignore, ones, zeros, soft };

struct Label {
  float value = 0;
  bool counts = false;
};

/// The label of a cell of a table: "1.0", "0.0", "-1.0" or "". Nothing where it is none of these.
std::optional<Label> label_of_cell(std::string_view cell, Uncertain uncertain);

}  // namespace larmor::xray_vqa

// The questions of MIMIC-Ext-CXR-QBA by type, and the head that answers each.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace larmor::xray_vqa {

enum class Head : int8_t { none = -1, binary = 0, category = 1, region = 2, severity = 3 };

inline constexpr int64_t heads = 4;
inline constexpr std::array<int64_t, heads> head_classes = {2, 14, 26, 4};
inline constexpr std::array<const char*, heads> head_names = {"binary", "category", "region", "severity"};

struct QuestionType {
  std::string_view name;  // "D02_has_finding"
  Head head = Head::none;
  bool asks_for_normal = false;  // a binary one whose "yes" says that there is no finding

  /// "has_finding"
  std::string_view short_name() const;
};

/// The published types, in the order of their names; the last one, "unknown", is for all others.
const std::vector<QuestionType>& question_types();

/// The place of a type in question_types(), told by the whole name, by what follows its prefix
/// ("has_finding") or, where that name is an older short one ("is_abnormal"), by its beginning. Letters' case
/// does not count. "unknown" where it is none.
int64_t find_question_type(std::string_view name);
int64_t unknown_question_type();

/// How many questions of each type went to which head, or were left out: for a person.
std::string routing_report(const std::vector<int64_t>& questions_by_type);

}  // namespace larmor::xray_vqa

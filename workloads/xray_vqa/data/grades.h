// How good a question is, as the dataset's authors rate it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace larmor::xray_vqa {

enum class Grade : int8_t { a_plus_plus, a_plus, a, b, c, d, unrated };

/// "A++" to "D", and "unrated".
std::optional<Grade> grade_called(std::string_view name);
const char* name_of(Grade grade);

/// What the codes in the documents stand for.
class GradeCodes {
 public:
  /// Documents that write the letters themselves.
  GradeCodes() = default;
  /// quality_mappings.csv: a column of codes, one of grades, and, where it decodes several fields, one that
  /// names them; then the lines of question_quality count. Throws Error (data) with the path and the columns
  /// that it has.
  explicit GradeCodes(const std::filesystem::path& path);

  /// Nothing where the code stands for no grade.
  std::optional<Grade> find(std::string_view code) const;

 private:
  std::map<std::string, Grade, std::less<>> codes_;
};

}  // namespace larmor::xray_vqa

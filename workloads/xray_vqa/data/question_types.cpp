#include "workloads/xray_vqa/data/question_types.h"

#include <algorithm>
#include <cctype>

#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

std::string_view without_prefix(std::string_view name) {
  const std::size_t mark = name.find('_');
  if (mark == std::string_view::npos || mark == 0 || !std::isupper(static_cast<unsigned char>(name[0])))
    return name;
  const bool numbered = std::all_of(name.begin() + 1, name.begin() + static_cast<std::ptrdiff_t>(mark),
                                    [](unsigned char letter) { return std::isdigit(letter) != 0; });
  return numbered ? name.substr(mark + 1) : name;
}

}  // namespace

std::string_view QuestionType::short_name() const { return without_prefix(name); }

const std::vector<QuestionType>& question_types() {
  using enum Head;
  static const std::vector<QuestionType> types = {{"A_indication", category},
                                                  {"B01_describe_all", none},
                                                  {"B02_describe_abnormal", none},
                                                  {"B03_is_abnormal", none},
                                                  {"B04_is_normal", none, true},
                                                  {"B08_describe_subcat", category},
                                                  {"B09_describe_abnormal_subcat", category},
                                                  {"B10_is_abnormal_subcat", binary},
                                                  {"B11_is_normal_subcat", binary, true},
                                                  {"B12_describe_device", category},
                                                  {"B13_has_devices", binary},
                                                  {"B15_describe_acquisition", none},
                                                  {"B16_describe_imaging_artifacts", none},
                                                  {"C01_describe_region", region},
                                                  {"C02_describe_abnormal_region", region},
                                                  {"C03_is_abnormal_region", binary},
                                                  {"C04_is_normal_region", binary, true},
                                                  {"C07_describe_region_device", category},
                                                  {"C08_has_region_device", binary},
                                                  {"D01_describe_finding", category},
                                                  {"D02_has_finding", binary},
                                                  {"D03_where_is_finding", region},
                                                  {"D04_how_severe_is_finding", severity},
                                                  {"D05_describe_device", category},
                                                  {"D06_has_device", binary},
                                                  {"D07_where_is_device", region},
                                                  {"unknown", none}};
  return types;
}

int64_t unknown_question_type() { return static_cast<int64_t>(question_types().size()) - 1; }

int64_t find_question_type(std::string_view name) {
  const auto& types = question_types();
  const auto place_where = [&](const auto& fits) {
    const auto found = std::find_if(types.begin(), types.end() - 1, fits);
    return static_cast<int64_t>(found - types.begin());
  };
  const std::string wanted = lower(name), rest = lower(without_prefix(name));
  int64_t place = place_where([&](const QuestionType& type) { return lower(type.name) == wanted; });
  if (place < unknown_question_type()) return place;
  place = place_where([&](const QuestionType& type) { return type.short_name() == rest; });
  if (place < unknown_question_type()) return place;
  // Short names of before the dataset was published: "how_severe", "is_abnormal", "where_is".
  if (rest.size() < std::string_view("is_normal").size()) return unknown_question_type();
  return place_where([&](const QuestionType& type) {
    return type.head != Head::none && type.short_name().starts_with(rest + "_");
  });
}

std::string routing_report(const std::vector<int64_t>& questions_by_type) {
  std::vector<std::string> words;
  int64_t answered = 0, all = 0;
  for (int64_t head = -1; head < heads; ++head) {
    int64_t count = 0;
    for (std::size_t i = 0; i < questions_by_type.size(); ++i) {
      if (static_cast<int64_t>(question_types()[i].head) == head) count += questions_by_type[i];
    }
    all += count;
    if (head >= 0) {
      answered += count;
      words.push_back(text(head_names[static_cast<std::size_t>(head)], ' ', count));
    }
  }
  return text(answered, " of ", all, " questions have a head (", join(words, ", "), ")");
}

}  // namespace larmor::xray_vqa

#include "workloads/xray_vqa/training/answer_charts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "larmor/base/text.h"
#include "larmor/draw/chart.h"
#include "larmor/draw/count_table.h"

namespace larmor::xray_vqa {
namespace {

std::string counted(std::size_t count) { return text(count, count == 1 ? " answer" : " answers"); }

Image reliability_chart(const SplitAnswers& answers, const std::string& of) {
  std::vector<double> confidence, right;
  for (const Answered& question : answers.questions) {
    confidence.push_back(question.confidence);
    right.push_back(question.given == question.answer ? 1 : 0);
  }
  ChartSeries found{.name = "the answers of a bin, and how many they are",
                    .way = ChartSeries::Way::none,
                    .mark = ChartSeries::Mark::dot};
  for (const ReliabilityBin& bin : reliability_bins(confidence, right)) {
    if (bin.answers == 0) continue;
    const auto all = static_cast<double>(bin.answers);
    found.x.push_back(bin.confidence / all);
    found.y.push_back(bin.right / all);
    found.labels.push_back(text(bin.answers));
  }
  constexpr int width = 810;  // makes the plot nearly a square
  return draw_chart(
      {.title = text("Reliability of ", counted(confidence.size()), " of ", of, ": ECE ",
                     fixed(calibration_error(confidence, right), 3)),
       .x = {.title = "mean confidence", .low = 0, .high = 1},
       .y = {.title = "share of right answers", .low = 0, .high = 1},
       .series = {{.name = "right as often as confident", .x = {0, 1}, .y = {0, 1}, .reference = true},
                  std::move(found)},
       .width = width});
}

std::vector<Answered> of_kind(const SplitAnswers& answers, std::size_t head) {
  std::vector<Answered> own;
  std::ranges::copy_if(answers.questions, std::back_inserter(own), [head](const Answered& question) {
    return question.head == static_cast<int64_t>(head);
  });
  return own;
}

/// True or given.
std::set<int64_t> classes_in(const std::vector<Answered>& questions) {
  std::set<int64_t> classes;
  for (const Answered& question : questions) classes.insert({question.answer, question.given});
  return classes;
}

Image confusion_table(const std::vector<Answered>& questions, Head head, const std::string& of,
                      const Vocabularies& vocabularies) {
  const std::set<int64_t> occurring = classes_in(questions);
  const std::vector<int64_t> classes(occurring.begin(), occurring.end());
  CountTable table{.row_title = "true answer", .column_title = "given answer"};
  for (const int64_t number : classes) table.rows.push_back(answer_name(head, number, vocabularies));
  table.columns = table.rows;
  table.counts.assign(classes.size() * classes.size(), 0);
  const auto place = [&](int64_t number) {
    return static_cast<std::size_t>(std::ranges::lower_bound(classes, number) - classes.begin());
  };
  std::size_t right = 0;
  for (const Answered& question : questions) {
    ++table.counts[place(question.answer) * classes.size() + place(question.given)];
    right += question.answer == question.given ? 1 : 0;
  }
  table.title = text("Kind ", head_names[static_cast<std::size_t>(head)], ": ", counted(questions.size()),
                     " of ", of, ", ", right, " right");
  return draw_count_table(table);
}

}  // namespace

void draw_answer_charts(const SplitAnswers& answers, const std::string& inputs, const std::string& of,
                        const Vocabularies& vocabularies, Metrics& metrics) {
  if (answers.questions.empty()) {
    metrics.remark(text("no chart of reliability and no table of confusions of ", of,
                        ": no question has an answer that is known and that a head gives"));
    return;
  }
  metrics.picture(text("reliability", inputs), reliability_chart(answers, of));
  std::vector<std::string> without;
  for (std::size_t number = 0; number < heads; ++number) {
    const auto head = static_cast<Head>(number);
    const std::vector<Answered> own = of_kind(answers, number);
    const std::set<int64_t> classes = classes_in(own);
    if (classes.size() > 1) {
      metrics.picture(text("confusion_", head_names[number], inputs),
                      confusion_table(own, head, of, vocabularies));
    } else if (own.empty()) {
      without.push_back(text(head_names[number], " (no question)"));
    } else {
      without.push_back(text(head_names[number], " (", counted(own.size()), ", true and given \"",
                             answer_name(head, *classes.begin(), vocabularies), "\" every time)"));
    }
  }
  if (!without.empty())
    metrics.remark(
        text("no table of confusions of ", of, " where there is only one class: ", join(without, ", ")));
}

}  // namespace larmor::xray_vqa

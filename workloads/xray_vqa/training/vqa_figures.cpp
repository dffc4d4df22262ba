#include "workloads/xray_vqa/training/vqa_figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

#include "workloads/xray_vqa/training/split_loss.h"

namespace larmor::xray_vqa {
namespace {

constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t fewest_labels = 10;
constexpr std::size_t calibration_bins = 15;

using ByExample = std::map<int64_t, double>;

ByExample by_example(const CaseValues& cases, const std::string& name) {
  const auto found = cases.find(name);
  if (found == cases.end()) return {};
  return {found->second.begin(), found->second.end()};
}

double value_or(const ByExample& values, int64_t example, double otherwise) {
  const auto found = values.find(example);
  return found == values.end() ? otherwise : found->second;
}

template <class Key>
std::map<Key, int64_t> most_frequent(const std::map<Key, std::map<int64_t, int64_t>>& counts) {
  std::map<Key, int64_t> winners;
  for (const auto& [key, classes] : counts) {
    const auto more = [](const auto& a, const auto& b) { return a.second < b.second; };
    winners[key] = std::max_element(classes.begin(), classes.end(), more)->first;
  }
  return winners;
}

using Questions = std::vector<const Answered*>;
using LabelList = std::vector<const LabelSeen*>;

template <class Seen>
std::vector<const Seen*> all_of(const std::vector<Seen>& seen) {
  std::vector<const Seen*> all;
  for (const Seen& one : seen) all.push_back(&one);
  return all;
}

/// A measure of some questions or labels of a split, with its interval over the patients who have any.
template <class Seen, class Measure>
SplitMetric figure_of(const std::vector<const Seen*>& seen, const Measure& measure, Metrics& metrics) {
  std::vector<int64_t> examples;
  for (const Seen* one : seen) examples.push_back(one->example);
  return measured(metrics, examples, [&](std::span<const std::size_t> rows) -> std::optional<double> {
    std::vector<const Seen*> drawn;
    for (const std::size_t row : rows) drawn.push_back(seen[row]);
    return measure(drawn);
  });
}

/// The share of questions for which `says` gives the answer.
template <class Says>
std::optional<double> share_right(const Questions& questions, const Says& says) {
  if (questions.empty()) return std::nullopt;
  const auto right = std::ranges::count_if(
      questions, [&](const Answered* question) { return says(*question) == question->answer; });
  return static_cast<double>(right) / static_cast<double>(questions.size());
}

int64_t given_answer(const Answered& question) { return question.given; }

Questions of_head(const Questions& questions, std::size_t head) {
  Questions some;
  for (const Answered* question : questions) {
    if (question->head == static_cast<int64_t>(head)) some.push_back(question);
  }
  return some;
}

LabelList of_label(const LabelList& labels, int64_t label) {
  LabelList some;
  for (const LabelSeen* seen : labels) {
    if (seen->label == label) some.push_back(seen);
  }
  return some;
}

/// Of class 1 of questions of the binary head: of those given, or of those true.
std::optional<double> binary_share(const Questions& questions, int64_t Answered::* among) {
  int64_t all = 0, both = 0;
  for (const Answered* question : questions) {
    if (question->*among != 1) continue;
    ++all;
    both += question->given == 1 && question->answer == 1 ? 1 : 0;
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(both) / static_cast<double>(all);
}

std::vector<double> defined_aurocs(const LabelList& labels) {
  std::vector<double> areas;
  for (int64_t label = 0; label < chexpert_labels; ++label) {
    if (const auto area = auroc(of_label(labels, label))) areas.push_back(*area);
  }
  return areas;
}

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> deviation_of(const std::vector<double>& values) {
  const auto mean = mean_of(values);
  if (!mean) return std::nullopt;
  double squares = 0;
  for (const double value : values) squares += (value - *mean) * (value - *mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// The mean distance of bins from their confidence grows as their answers become fewer different ones.
constexpr const char* no_interval_of_ece = "answers that are drawn twice would make it larger";

void record_heads(const Questions& questions, const std::string& inputs, Metrics& metrics) {
  for (std::size_t head = 0; head < heads; ++head) {
    const Questions own = of_head(questions, head);
    if (own.empty()) continue;
    const auto record = [&](const char* name, const auto& measure, const char* why_undefined = "") {
      metrics.figure(text(name, '_', head_names[head], inputs),
                     with_reason(figure_of(own, measure, metrics), why_undefined));
    };
    record("accuracy", [](const Questions& drawn) { return share_right(drawn, given_answer); });
    record("f1", [](const Questions& drawn) { return macro_f1(drawn); });
    if (head != 0) continue;
    record(
        "precision", [](const Questions& drawn) { return binary_share(drawn, &Answered::given); },
        "no answer is yes");
    record(
        "recall", [](const Questions& drawn) { return binary_share(drawn, &Answered::answer); },
        "no question is to be answered yes");
  }
}

std::string why_no_auroc(const LabelList& labels) {
  if (labels.size() < fewest_labels) return text("fewer than ", fewest_labels, " studies");
  return labels.front()->truth == 1 ? "no study without it" : "no study with it";
}

void record_labels(const LabelList& labels, const std::string& inputs, Metrics& metrics) {
  auto figure =
      figure_of(labels, [](const LabelList& drawn) { return mean_of(defined_aurocs(drawn)); }, metrics);
  figure.parts_by = "label";
  for (int64_t label = 0; label < chexpert_labels; ++label) {
    const std::string name(chexpert_names[static_cast<std::size_t>(label)]);
    const LabelList own = of_label(labels, label);
    const auto area = auroc(own);
    figure.parts.emplace_back(name, area.value_or(not_defined));
    if (!area) figure.undefined_parts[name] = why_no_auroc(own);
  }
  metrics.figure("auroc" + inputs,
                 with_reason(figure, text("no label has ", fewest_labels,
                                          " studies, some with the finding and some without")));
  metrics.figure(
      "auroc_deviation" + inputs,
      with_reason(
          figure_of(
              labels, [](const LabelList& drawn) { return deviation_of(defined_aurocs(drawn)); }, metrics),
          "there is no area"));
  std::vector<double> probability, truth;
  for (const LabelSeen* seen : labels) {
    probability.push_back(seen->probability);
    truth.push_back(seen->truth);
  }
  metrics.figure("ece_labels" + inputs, with_reason({.value = calibration_error(probability, truth),
                                                     .no_interval = no_interval_of_ece},
                                                    "no study has a label that counts"));
}

/// `inputs`: what stands behind the names of what the network has said.
SplitAnswers answers_from(const CaseValues& cases, const std::string& inputs) {
  SplitAnswers split;
  const auto heads_of = by_example(cases, note::head), types = by_example(cases, note::type);
  const auto studies = by_example(cases, note::study), words = by_example(cases, note::words);
  const auto answers = by_example(cases, note::answer), given = by_example(cases, text(note::given, inputs));
  const auto blind = by_example(cases, text(note::given, note::blind)),
             confidence = by_example(cases, text(note::confidence, inputs));
  const auto entropy = by_example(cases, text(note::cross_entropy, inputs)),
             scenes = by_example(cases, note::scene);
  for (const auto& [example, answer] : answers) {
    Answered question{.example = example,
                      .head = static_cast<int64_t>(value_or(heads_of, example, 0)),
                      .type = static_cast<int64_t>(value_or(types, example, 0)),
                      .words = value_or(words, example, 0),
                      .answer = static_cast<int64_t>(answer),
                      .given = static_cast<int64_t>(value_or(given, example, -1)),
                      .confidence = value_or(confidence, example, 0),
                      .cross_entropy = value_or(entropy, example, 0),
                      .has_scene = value_or(scenes, example, 0) == 1};
    if (const auto found = blind.find(example); found != blind.end())
      question.blind = static_cast<int64_t>(found->second);
    split.questions.push_back(question);
  }
  std::map<int64_t, LabelLoss> losses;
  for (const auto& [example, sum] : by_example(cases, text(note::label_entropy, inputs)))
    losses[example] = {.example = example, .entropy = sum};
  for (int64_t label = 0; label < chexpert_labels; ++label) {
    const auto truths = by_example(cases, text(note::label, label));
    const auto probabilities = by_example(cases, text(note::probability, label, inputs));
    for (const auto& [example, truth] : truths) ++losses[example].labels;
    std::set<int64_t> seen;
    for (const auto& [example, truth] : truths) {
      const auto study = static_cast<int64_t>(value_or(studies, example, 0));
      const bool is_certain = truth == 0 || truth == 1;
      if (!is_certain || !seen.insert(study).second) continue;
      split.labels.push_back({.example = example,
                              .label = label,
                              .truth = truth,
                              .probability = value_or(probabilities, example, 0)});
    }
  }
  for (auto& [example, loss] : losses) {
    loss.example = example;
    split.label_losses.push_back(loss);
  }
  return split;
}

}  // namespace

SplitAnswers SplitAnswers::from(const CaseValues& cases) { return answers_from(cases, ""); }

SplitAnswers SplitAnswers::without_scene(const CaseValues& cases) {
  return answers_from(cases, note::without_scene);
}

Baselines::Baselines(std::span<const Answered> training) {
  std::map<int64_t, std::map<int64_t, int64_t>> by_type;
  std::map<std::pair<int64_t, double>, std::map<int64_t, int64_t>> by_words;
  for (const Answered& question : training) {
    ++by_type[question.type][question.answer];
    ++by_words[{question.type, question.words}][question.answer];
  }
  by_type_ = most_frequent(by_type);
  by_words_ = most_frequent(by_words);
}

int64_t Baselines::of_type(const Answered& question) const {
  const auto found = by_type_.find(question.type);
  return found == by_type_.end() ? -1 : found->second;
}

int64_t Baselines::of_words(const Answered& question) const {
  const auto found = by_words_.find({question.type, question.words});
  return found == by_words_.end() ? of_type(question) : found->second;
}

std::optional<double> auroc(std::span<const LabelSeen* const> labels) {
  if (labels.size() < fewest_labels) return std::nullopt;
  std::vector<const LabelSeen*> sorted(labels.begin(), labels.end());
  std::ranges::sort(sorted, {}, [](const LabelSeen* seen) { return seen->probability; });
  double positives = 0, ranks = 0;
  for (std::size_t begin = 0; begin < sorted.size();) {
    std::size_t end = begin;
    while (end < sorted.size() && sorted[end]->probability == sorted[begin]->probability) ++end;
    const double rank = (static_cast<double>(begin + end) + 1) / 2;  // of ties the mean
    for (; begin < end; ++begin) {
      if (sorted[begin]->truth != 1) continue;
      positives += 1;
      ranks += rank;
    }
  }
  const double negatives = static_cast<double>(sorted.size()) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  return (ranks - positives * (positives + 1) / 2) / (positives * negatives);
}

std::optional<double> macro_f1(std::span<const Answered* const> questions) {
  struct Counts {
    double right = 0, asked = 0, given = 0;
  };
  std::map<int64_t, Counts> classes;
  for (const Answered* question : questions) {
    classes[question->answer].asked += 1;
    classes[question->given].given += 1;
    if (question->answer == question->given) classes[question->answer].right += 1;
  }
  double sum = 0;
  for (const auto& [number, counts] : classes) sum += 2 * counts.right / (counts.asked + counts.given);
  if (classes.empty()) return std::nullopt;
  return sum / static_cast<double>(classes.size());
}

std::vector<ReliabilityBin> reliability_bins(std::span<const double> confidence,
                                             std::span<const double> truth) {
  std::vector<ReliabilityBin> bins(calibration_bins);
  for (std::size_t i = 0; i < confidence.size(); ++i) {
    const auto place = static_cast<std::size_t>(confidence[i] * calibration_bins);
    ReliabilityBin& bin = bins[std::min(place, calibration_bins - 1)];
    ++bin.answers;
    bin.confidence += confidence[i];
    bin.right += truth[i];
    bin.difference += truth[i] - confidence[i];
  }
  return bins;
}

double calibration_error(std::span<const double> confidence, std::span<const double> truth) {
  if (confidence.empty()) return not_defined;
  double sum = 0;
  for (const ReliabilityBin& bin : reliability_bins(confidence, truth)) sum += std::abs(bin.difference);
  return sum / static_cast<double>(confidence.size());
}

namespace {

SplitMetric accuracy_of(const Questions& questions, const auto& says, Metrics& metrics) {
  return figure_of(questions, [&](const Questions& drawn) { return share_right(drawn, says); }, metrics);
}

/// All but accuracies over all heads. `inputs`: what stands behind the names.
void record_network(const SplitAnswers& answers, const std::string& inputs, Metrics& metrics) {
  record_heads(all_of(answers.questions), inputs, metrics);
  record_labels(all_of(answers.labels), inputs, metrics);
  std::vector<double> confidence, right;
  for (const Answered& question : answers.questions) {
    confidence.push_back(question.confidence);
    right.push_back(question.given == question.answer ? 1 : 0);
  }
  metrics.figure("ece" + inputs,
                 {.value = calibration_error(confidence, right), .no_interval = no_interval_of_ece});
}

/// What a person who reads the figures may take them for, and what they are.
void remark_on_scenes(const SplitAnswers& alone, Metrics& metrics) {
  const auto with_scene = std::ranges::count_if(alone.questions, &Answered::has_scene);
  if (with_scene > 0)
    metrics.remark(text(
        with_scene, " of ", alone.questions.size(),
        " questions were answered with the scene of their study (boxes, regions, entities), which predict "
        "has where objects are given; one that was made from a report may give the answer away. Figures "
        "that end in _without_scene are of the picture alone"));
}

}  // namespace

void record_vqa_figures(const SplitAnswers& answers, const SplitAnswers& alone, const Baselines& baselines,
                        const LossWeights& weights, Metrics& metrics) {
  const Questions questions = all_of(answers.questions);
  metrics.figure("loss", loss_figure(answers, weights, metrics));
  const auto record = [&](const char* name, const auto& says) {
    metrics.figure(name, accuracy_of(questions, says, metrics));
  };
  record("accuracy", given_answer);
  record("accuracy_majority", [&](const Answered& question) { return baselines.of_type(question); });
  record("accuracy_question_only", [&](const Answered& question) { return baselines.of_words(question); });
  const auto has_blind = [](const Answered& question) { return question.blind.has_value(); };
  if (std::ranges::any_of(answers.questions, has_blind))
    record("accuracy_image_blind", [](const Answered& question) { return question.blind.value_or(-1); });
  record_network(answers, "", metrics);
  metrics.figure(text("accuracy", note::without_scene),
                 accuracy_of(all_of(alone.questions), given_answer, metrics));
  if (metrics.depth() != ValidationDepth::full) return;
  record_network(alone, note::without_scene, metrics);
  remark_on_scenes(alone, metrics);
}

}  // namespace larmor::xray_vqa

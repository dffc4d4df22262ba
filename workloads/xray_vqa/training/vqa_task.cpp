#include "workloads/xray_vqa/training/vqa_task.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/task/prediction.h"

#include "workloads/xray_vqa/training/answer_charts.h"
#include "workloads/xray_vqa/training/answered_example.h"
#include "workloads/xray_vqa/training/asked.h"
#include "workloads/xray_vqa/training/declared_vqa.h"
#include "workloads/xray_vqa/training/encoder_weights.h"
#include "workloads/xray_vqa/training/left_out_scene.h"
#include "workloads/xray_vqa/training/question_columns.h"
#include "workloads/xray_vqa/training/saliency.h"
#include "workloads/xray_vqa/training/vqa_figures.h"

namespace larmor::xray_vqa {
namespace {

constexpr const char* earlier_stage = "pretrain";

VqaInputs inputs_of(const Batch& batch) {
  return {.image = batch.at(sample::image),
          .tokens = batch.at(sample::tokens),
          .tokens_mask = batch.at(sample::tokens_mask),
          .boxes = batch.at(sample::boxes),
          .regions = batch.at(sample::regions),
          .entities = batch.at(sample::entities),
          .objects_mask = batch.at(sample::objects_mask)};
}

VqaTargets targets_of_batch(const Batch& batch) {
  return targets_of(batch.at(sample::head), batch.at(sample::answer), batch.at(sample::labels),
                    batch.at(sample::labels_mask));
}

/// A number that equal rows of tokens share, and others hardly ever: exact as a double.
double number_of_words(const at::Tensor& tokens) {
  constexpr uint64_t basis = 14695981039346656037ULL, prime = 1099511628211ULL;  // FNV-1a
  uint64_t hash = basis;
  const at::Tensor row = tokens.contiguous();
  for (int64_t i = 0; i < row.numel(); ++i)
    hash = (hash ^ static_cast<uint64_t>(row.const_data_ptr<int64_t>()[i])) * prime;
  constexpr int kept_bits = 52;
  return static_cast<double>(hash >> (64 - kept_bits));
}

int64_t example_of(const Batch& batch, int64_t row) {
  return batch.keys[static_cast<std::size_t>(row)].example;
}

/// The tensors that are looked at number by number, on the host.
Batch on_host(const Batch& batch) {
  Batch host{.tensors = {}, .keys = batch.keys};
  for (const char* name : {sample::tokens, sample::type, sample::head, sample::answer, sample::labels,
                           sample::labels_mask, sample::study})
    host.tensors[name] = batch.at(name).cpu();
  return host;
}

int64_t whole_number(const Batch& batch, const char* name, int64_t row) {
  return batch.at(name)[row].item<int64_t>();
}

/// The box that the question looks at most, and its share of the attention to all boxes.
void add_box(const std::vector<Box>& boxes, const at::Tensor& weights, Prediction& prediction) {
  const at::Tensor of_boxes =
      weights[0].narrow(0, 0, static_cast<int64_t>(boxes.size())).to(at::kCPU, at::kDouble);
  const auto most = of_boxes.argmax().item<int64_t>();
  const Box& box = boxes[static_cast<std::size_t>(most)];
  prediction.words.emplace_back("box", text(box.x1, " ", box.y1, " ", box.x2, " ", box.y2));
  prediction.numbers.emplace_back("box_attention", of_boxes[most].item<double>());
}

bool has_answer(const Batch& batch, int64_t row) {
  return whole_number(batch, sample::head, row) >= 0 && whole_number(batch, sample::answer, row) >= 0;
}

}  // namespace

VqaTask::VqaTask(const VqaConfig& config, VqaSurroundings surroundings, uint64_t seed, c10::Device device)
    : config_(config), surroundings_(std::move(surroundings)) {
  const SeededInitialisation initialisation(seed);
  network_ = VqaNetwork(config_.options(surroundings_.tokenizer->size()), device);
  if (config_.thaw_after == 0) {
    const auto freeze = [&](const char* name, torch::nn::Module* encoder) {
      if (!config_.freezes(name)) return;
      for (at::Tensor& parameter : encoder->parameters()) parameter.set_requires_grad(false);
    };
    freeze("image", network_->image_encoder());
    freeze("text", network_->text_encoder());
  }
  rules_ = rules_of(*network_, config_);
}

std::vector<Objective> VqaTask::objectives() {
  return {{.name = "answers", .network = network_.get(), .rules = rules_}};
}

void VqaTask::start() {
  start_encoders(*network_, config_);
  if (surroundings_.earlier == nullptr) return;
  const EarlierRun run = surroundings_.earlier->read(earlier_stage);
  if (run.is_in_doubles()) network_->to(at::kDouble);  // place() narrows it for a plan of another precision
  const auto report = start_from(*network_, run.weights, text("from.", earlier_stage), PretrainedOptions());
  for (const std::string& line : lines_of(report)) log::info(line);
}

bool VqaTask::is_frozen(const char* encoder, int64_t epoch) const {
  return config_.freezes(encoder) && (config_.thaw_after == 0 || epoch < config_.thaw_after);
}

VqaOutputs VqaTask::pass(const VqaInputs& inputs, int64_t epoch) {
  at::Tensor map, states;
  {
    const at::AutoGradMode learns(at::GradMode::is_enabled() && !is_frozen("image", epoch));
    map = network_->map_of(inputs.image);
  }
  {
    const at::AutoGradMode learns(at::GradMode::is_enabled() && !is_frozen("text", epoch));
    states = network_->states_of(inputs.tokens, inputs.tokens_mask);
  }
  return network_->answer(map, states, inputs);
}

at::Tensor VqaTask::counts(const Batch& batch) {
  const at::Tensor examples = at::full({1}, static_cast<double>(batch.size()), at::kDouble);
  return at::cat({counts_of(targets_of_batch(batch)), examples});
}

std::vector<at::Tensor> VqaTask::losses(const Batch& batch, const StepContext& context) {
  const VqaInputs inputs = with_scenes_left_out(inputs_of(batch), config_.without_scene);
  const VqaOutputs outputs = pass(inputs, context.epoch);
  const VqaTargets targets = targets_of_batch(batch);
  const VqaLoss loss = vqa_loss(outputs, targets, context.counts, config_.weights);
  const at::Tensor own = counts_of(targets);
  for (std::size_t i = 0; i < heads; ++i)
    context.record_ratio(text("loss_", head_names[i]), loss.answers[i].detach(),
                         own[static_cast<int64_t>(i)]);
  context.record_ratio("loss_chexpert", loss.labels.detach(), own[heads]);
  // Parts of the step's loss, over shares that come to one.
  const double share = static_cast<double>(batch.size());
  context.record_ratio("loss_vqa", loss.vqa.detach(), share / context.counts[heads + 1]);
  context.record_ratio("loss", loss.total.detach(), share / context.counts[heads + 1]);
  return {loss.total};
}

void VqaTask::note_questions(const Batch& batch, const at::Tensor& has_scene, Metrics& metrics) const {
  const at::Tensor& tokens = batch.at(sample::tokens);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = example_of(batch, row);
    metrics.note(note::study, example, static_cast<double>(whole_number(batch, sample::study, row)));
    if (!has_answer(batch, row)) continue;
    for (const auto& [name, key] :
         {std::pair(note::head, sample::head), {note::type, sample::type}, {note::answer, sample::answer}})
      metrics.note(name, example, static_cast<double>(whole_number(batch, key, row)));
    metrics.note(note::words, example, number_of_words(tokens[row]));
    metrics.note(note::scene, example, has_scene[row].item<bool>() ? 1 : 0);
  }
}

void VqaTask::note_answers(const Batch& batch, const VqaOutputs& outputs, const std::string& inputs,
                           Metrics& metrics) const {
  for (int64_t row = 0; row < batch.size(); ++row) {
    if (!has_answer(batch, row)) continue;
    const auto head = static_cast<std::size_t>(whole_number(batch, sample::head, row));
    const at::Tensor logs = at::log_softmax(outputs.answers[head][row].to(at::kCPU, at::kDouble), 0);
    const auto given = logs.argmax().item<int64_t>();
    metrics.note(note::given + inputs, example_of(batch, row), static_cast<double>(given));
    metrics.note(note::confidence + inputs, example_of(batch, row), std::exp(logs[given].item<double>()));
    metrics.note(note::cross_entropy + inputs, example_of(batch, row),
                 -logs[whole_number(batch, sample::answer, row)].item<double>());
  }
}

void VqaTask::note_labels(const Batch& batch, const VqaOutputs& outputs, const std::string& inputs,
                          Metrics& metrics) const {
  const at::Tensor logits = outputs.labels.to(at::kCPU, at::kDouble);
  const at::Tensor truth = batch.at(sample::labels).to(at::kDouble);
  const at::Tensor &counts = batch.at(sample::labels_mask), probability = at::sigmoid(logits);
  const at::Tensor entropy =
      at::binary_cross_entropy_with_logits(logits, truth, {}, {}, at::Reduction::None).mul_(counts).sum(1);
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = example_of(batch, row);
    metrics.note(note::label_entropy + inputs, example, entropy[row].item<double>());
    for (int64_t label = 0; label < chexpert_labels; ++label) {
      if (!counts[row][label].item<bool>()) continue;
      if (inputs.empty()) metrics.note(text(note::label, label), example, truth[row][label].item<double>());
      metrics.note(text(note::probability, label, inputs), example, probability[row][label].item<double>());
    }
  }
}

void VqaTask::validate(const Batch& batch, Metrics& metrics) {
  const Batch host = on_host(batch);
  const VqaInputs inputs = inputs_of(batch);
  note_questions(host, has_scene(inputs).cpu(), metrics);
  if (metrics.of_reference()) return;
  const at::Tensor states = network_->states_of(inputs.tokens, inputs.tokens_mask);
  const at::Tensor map = network_->map_of(inputs.image);
  const VqaInputs picture_alone = without_scene(inputs);
  const VqaOutputs outputs = network_->answer(map, states, inputs),
                   outputs_alone = network_->answer(map, states, picture_alone);
  for (const auto& [given, name] :
       {std::pair(&outputs, ""), std::pair(&outputs_alone, note::without_scene)}) {
    note_answers(host, *given, name, metrics);
    note_labels(host, *given, name, metrics);
  }
  for (int64_t row = 0; row < batch.size(); ++row) {
    if (!metrics.shows(example_of(batch, row)) || !has_answer(host, row)) continue;
    const auto head = static_cast<Head>(whole_number(host, sample::head, row));
    const auto given_in = [&](const VqaOutputs& all) {
      return given_by(all.answers[static_cast<std::size_t>(head)][row]);
    };
    AnsweredExample example{.image = inputs.image[row],
                            .saliency = {},
                            .head = head,
                            .truth = whole_number(host, sample::answer, row),
                            .given = given_in(outputs_alone)};
    example.saliency = class_activation(*network_, map.narrow(0, row, 1), states.narrow(0, row, 1),
                                        one_row(picture_alone, row), head, example.given.answer);
    if (has_scene(inputs)[row].item<bool>()) example.with_scene = given_in(outputs);
    show_answered(example, surroundings_.vocabularies, example_of(batch, row), metrics);
  }
  if (metrics.depth() != ValidationDepth::full) return;
  // The same question about a picture without anything in it.
  const at::Tensor nothing = network_->map_of(at::zeros_like(inputs.image.narrow(0, 0, 1)));
  const at::Tensor map_of_nothing = nothing.expand({batch.size(), -1, -1, -1});
  note_answers(host, network_->answer(map_of_nothing, states, inputs), note::blind, metrics);
}

DeclaredFigures VqaTask::figures() const { return declared_vqa_figures(); }

void VqaTask::summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) {
  const auto training = SplitAnswers::from(reference);
  const auto answers = SplitAnswers::from(cases), alone = SplitAnswers::without_scene(cases);
  record_vqa_figures(answers, alone, Baselines(training.questions), config_.weights, metrics);
  if (!metrics.wants_pictures()) return;
  draw_answer_charts(alone, note::without_scene, "the picture alone", surroundings_.vocabularies, metrics);
  if (metrics.depth() == ValidationDepth::full &&
      std::ranges::any_of(answers.questions, &Answered::has_scene))
    draw_answer_charts(answers, "", "a network with the scene", surroundings_.vocabularies, metrics);
}

CaseColumns VqaTask::case_columns(const CaseValues& cases) const {
  return columns_of_questions(SplitAnswers::from(cases), SplitAnswers::without_scene(cases),
                              surroundings_.vocabularies);
}

std::vector<ScoredTruths> VqaTask::scores(const CaseValues& cases) const {
  return scores_of(SplitAnswers::from(cases), SplitAnswers::without_scene(cases));
}

Prediction VqaTask::predict(const Batch& inputs, const PredictionContext& context) {
  const Asked asked =
      asked_of(context.texts, config_.data.sizes, *surroundings_.tokenizer, surroundings_.vocabularies);
  VqaInputs batch = asked.inputs;
  for (at::Tensor* tensor : {&batch.tokens, &batch.tokens_mask, &batch.boxes, &batch.regions, &batch.entities,
                             &batch.objects_mask})
    *tensor = tensor->to(context.device);
  const at::Tensor map = map_of_picture(inputs.at(sample::image), context);
  const at::Tensor states = network_->states_of(batch.tokens, batch.tokens_mask);
  const VqaOutputs outputs = network_->answer(map, states, batch);
  const auto head = static_cast<std::size_t>(asked.head);
  const at::Tensor probabilities = at::softmax(outputs.answers[head][0].to(at::kCPU, at::kDouble), 0);
  const auto answer = probabilities.argmax().item<int64_t>();
  const auto& learnt = surroundings_.learnt;
  Prediction prediction;
  if (learnt && learnt->of_heads.at(head) == 0) {
    const std::string reason = text("no training question was one for the head ", head_names[head]);
    prediction.missing = {{"answer", reason}, {"probability", reason}};
  } else {
    prediction.words.emplace_back("answer", answer_name(asked.head, answer, surroundings_.vocabularies));
    prediction.numbers.emplace_back("probability", probabilities[answer].item<double>());
    for (int64_t one = 0; one < probabilities.size(0); ++one)
      prediction.chances.emplace_back(answer_name(asked.head, one, surroundings_.vocabularies),
                                      probabilities[one].item<double>());
  }
  prediction.words.emplace_back("head", head_names[head]);
  if (!asked.boxes.empty()) add_box(asked.boxes, network_->box_weights(outputs, states, batch), prediction);
  for (const std::string& name : context.pictures)
    prediction.pictures[name] = activation_over(
        inputs.at(sample::image), class_activation(*network_, map, states, batch, asked.head, answer));
  const at::Tensor labels = at::sigmoid(outputs.labels[0].to(at::kCPU, at::kDouble));
  for (std::size_t label = 0; label < chexpert_names.size(); ++label) {
    std::string name(chexpert_names[label]);
    if (learnt && learnt->of_labels[label] == 0) {
      prediction.missing.emplace_back(std::move(name), "no training example has this label");
    } else {
      prediction.numbers.emplace_back(std::move(name), labels[static_cast<int64_t>(label)].item<double>());
    }
  }
  return prediction;
}

at::Tensor VqaTask::map_of_picture(const at::Tensor& picture, const PredictionContext& context) {
  if (!seen_.picture.defined() || !at::equal(seen_.picture, picture))
    seen_ = {picture, network_->map_of(
                          radiograph_of(picture, config_.data.sizes.image).to(context.device, context.type))};
  return seen_.map;
}

std::string VqaTask::missing_values() const {
  return surroundings_.learnt ? what_was_not_learnt(*surroundings_.learnt) : "";
}

}  // namespace larmor::xray_vqa

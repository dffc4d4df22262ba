#include "workloads/xray_vqa/training/vqa_stage.h"

#include <utility>

#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/some_cases.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/tensor_file.h"
#include "larmor/measure/demand_count.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/task/volume_stage.h"
#include "larmor/text/vocabulary.h"

#include "workloads/xray_vqa/data/own_questions.h"
#include "workloads/xray_vqa/data/question_data.h"
#include "workloads/xray_vqa/training/encoder_weights.h"

namespace larmor::xray_vqa {
namespace {

constexpr const char* first_stage = "pretrain";

/// Names of the files that a run keeps.
constexpr const char *kept_vocabulary = "vocabulary", *kept_names = "dataset_info.json",
                     *kept_counts = "training_counts.json";

Json names_in(const NameList& list) {
  Json names = Json::array();
  for (int64_t place = 0; place < list.size(); ++place) names.push_back(list.name(place));
  return names;
}

/// The guide's, for the smallest GPU; four of them see 256 examples a step, or near to it.
Guide guide_of_auto_optimisation() {
  constexpr uint64_t mebibyte = uint64_t{1} << 20;
  Guide guide;
  guide.rows = {{20000 * mebibyte, 16, 4},
                {14000 * mebibyte, 12, 5},
                {10000 * mebibyte, 8, 8},
                {6000 * mebibyte, 4, 16},
                {0, 2, 32}};
  guide.on_cpu = {0, 4, 8};
  guide.examples_a_step = 256;
  guide.loader_threads_on_gpu = 3;
  guide.loader_threads_on_cpu = 4;
  guide.strategy = Strategy::zero2;
  guide.recomputes = true;
  guide.cores_a_thread = 4;
  guide.environment = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:512"}};
  guide.environment_of_several = {{"NCCL_DEBUG", "WARN"}, {"NCCL_IB_DISABLE", "1"}};
  return guide;
}

Sample example_to_count(const SampleSizes& sizes) {
  const auto shaped = [](at::IntArrayRef shape, at::ScalarType type) {
    return at::empty(shape, at::TensorOptions(at::kMeta).dtype(type));
  };
  return {{sample::image, shaped({3, sizes.image, sizes.image}, at::kFloat)},
          {sample::tokens, shaped({sizes.question}, at::kLong)},
          {sample::tokens_mask, shaped({sizes.question}, at::kBool)},
          {sample::boxes, shaped({sizes.objects, 4}, at::kFloat)},
          {sample::regions, shaped({sizes.objects}, at::kLong)},
          {sample::entities, shaped({sizes.objects}, at::kLong)},
          {sample::objects_mask, shaped({sizes.objects}, at::kBool)},
          {sample::type, shaped({}, at::kLong)},
          {sample::head, shaped({}, at::kLong)},
          {sample::answer, shaped({}, at::kLong)},
          {sample::labels, shaped({chexpert_labels}, at::kFloat)},
          {sample::labels_mask, shaped({chexpert_labels}, at::kBool)},
          {sample::study, shaped({}, at::kLong)}};
}

}  // namespace

WorkloadFields VqaStage::fields() {
  return {.data = [this](Fields& f) { config_.describe_data(f); },
          .data_kinds = {mimic_kind, table_kind},
          .data_keys = {{mimic_kind,
                         {"folder", "questions", "include", "exclude", "quality_grade", "view_filter",
                          "uncertain_labels"}},
                        {table_kind, {"list", "folder", "include", "exclude", "uncertain_labels"}},
                        {"phantom", {"phantom_questions"}}},
          .model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .train = [this](Fields& f) { config_.describe_train(f); },
          .objectives = {}};
}

void VqaStage::check(const RunConfig& config) const { config_.check(config); }

void VqaStage::check_start(const Sample& /*first*/) const {
  check_weights(config_.image_weights);
  check_weights(config_.text_weights);
  VqaNetwork shapes(config_.options(surroundings().tokenizer->size()), c10::kMeta);
  start_encoders(*shapes, config_);
  if (earlier() == nullptr) return;
  const auto before = earlier()->stage_as<VqaStage>(first_stage);
  const auto words = surroundings().tokenizer, their_words = before->surroundings().tokenizer;
  if (words->sha256() != their_words->sha256())
    fail(Exit::usage,
         text("data.vocabulary is another one than that of the run that from.", first_stage, " names"),
         "say the same vocabulary: the weights of words go by their numbers");
  VqaNetwork theirs(before->config_.options(their_words->size()), c10::kMeta);
  start_from(*shapes, state_dict(*theirs), text("from.", first_stage),
             {.what_fits = "pretrain with the same section `model`",
              .shape_hint = [](const NamedTensors&, const NamedTensors&) {
                return std::string("say the same in the section `model` as the run that it begins with");
              }});
}

Index VqaStage::index(const RunConfig& config) const {
  return question_index(questions(), config.data, static_cast<uint64_t>(config.run.seed));
}

Index VqaStage::index_shown(const RunConfig& config, const ShowsProgress& shows) const {
  return question_index(questions(), config.data, static_cast<uint64_t>(config.run.seed), shows);
}

Index VqaStage::found(const RunConfig& config) const {
  return question_index(questions(), without_splits(config.data), static_cast<uint64_t>(config.run.seed));
}

std::vector<ObjectiveGroup> VqaStage::groups(const RunConfig& config) const {
  VqaTask shapes(config_, surroundings(), /*seed=*/0, c10::kMeta);
  return objective_groups(shapes, config);
}

Demand VqaStage::demand(const RunConfig& config, const Index& index) const {
  VqaSurroundings around = surroundings();
  VqaTask trial(config_, std::move(around), /*seed=*/0, c10::kMeta);
  const Sample example = example_to_count(config_.data.sizes);
  Demand demand = count_demand(config, index, Json::array(), trial, example);
  demand.training_examples = count_questions(config_.data, index, Split::train);
  demand.sample_bytes = static_cast<int64_t>(example.at(sample::image).nbytes());  // all but nothing
  demand.preferred_micro_batch = 16;
  demand.batch_norm = config_.network.image_encoder == ImageEncoder::plain;
  demand.guide = guide_of_auto_optimisation();
  return demand;
}

std::unique_ptr<Dataset> VqaStage::dataset(const RunConfig& config, const Index& index, Split split) const {
  return question_dataset(questions(), config.data, index, split);
}

std::unique_ptr<Dataset> VqaStage::reference(const RunConfig& config, const Index& index,
                                             ValidationDepth /*depth*/) const {
  return some_cases(dataset(config, index, Split::train), config_.baseline_examples);
}

CaseColumns VqaStage::facts(const RunConfig& config, const Index& index, Split split) const {
  const auto examples = dataset(config, index, split);
  const auto& questions = dynamic_cast<const QuestionSource&>(*examples);
  CaseColumn study{.name = "study", .meaning = "the study that is asked about"},
      question{.name = "question", .meaning = "what is asked"};
  for (int64_t example = 0; example < questions.size(); ++example) {
    study.words[example] = questions.study(example);
    question.words[example] = questions.question(example);
  }
  return {study, question};
}

std::unique_ptr<Task> VqaStage::task(const RunConfig& config, const Index&) const {
  return std::make_unique<VqaTask>(config_, surroundings(), static_cast<uint64_t>(config.run.seed));
}

PredictionForm VqaStage::prediction(const RunConfig&) const {
  using Kind = PredictionInput::Kind;
  return {.inputs = {{.name = "image"},
                     {.name = "question", .kind = Kind::text},
                     {.name = "type", .kind = Kind::text, .is_optional = true},
                     {.name = "boxes", .kind = Kind::text, .is_optional = true},
                     {.name = "objects", .kind = Kind::file, .is_optional = true}},
          .pictures = {"saliency"},
          .columns = [](const CsvTable&, const std::string&) { return columns_of_training_alone(); },
          .why_not_mirrored = "questions and answers name the sides of the body"};
}

VqaSurroundings VqaStage::surroundings() const {
  const QuestionData data = questions();
  return {.tokenizer = std::make_shared<WordPiece>(question_tokenizer(data)),
          .vocabularies = question_vocabularies(data),
          .earlier = earlier(),
          .learnt = learnt()};
}

QuestionData VqaStage::questions() const {
  QuestionData data = config_.data;
  const auto take = [this](const char* name, std::string& path) {
    const auto kept = kept_files().find(name);
    if (kept != kept_files().end()) path = kept->second.string();
  };
  take(kept_vocabulary, data.vocabulary);
  take(kept_names, data.names);
  return data;
}

std::optional<TrainingCounts> VqaStage::learnt() const {
  const auto kept = kept_files().find(kept_counts);
  if (kept == kept_files().end()) return std::nullopt;
  return read_training_counts(kept->second);
}

std::map<std::string, std::string> VqaStage::keeps(const RunConfig& config, const Index& index) const {
  const QuestionData data = questions();
  std::map<std::string, std::string> files;
  if (!data.vocabulary.empty()) files[kept_vocabulary] = read_text(vocabulary_file(data.vocabulary));
  const Vocabularies names = question_vocabularies(data);
  if (names.regions.size() > 0 && names.entities.size() > 0)
    files[kept_names] =
        to_text(Json{{"regions", names_in(names.regions)}, {"finding_entities", names_in(names.entities)}});
  TrainingCounts counts = count_training(data, config.data, index);
  // Of a run that begins with another's weights, that one's count, in which earlier ones are.
  if (const auto begun = learnt()) {
    counts += *begun;
  } else if (earlier() != nullptr) {
    const auto known = earlier()->stage_as<VqaStage>(first_stage)->learnt();
    if (!known) return files;  // of an older run: nobody knows what its weights have seen
    counts += *known;
  }
  files[kept_counts] = to_text(to_json(counts));
  return files;
}

}  // namespace larmor::xray_vqa

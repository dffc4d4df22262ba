#include "workloads/xray_vqa/data/question_data.h"

#include <chrono>
#include <optional>
#include <utility>

#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_folder.h"
#include "larmor/data/table/claimed_folder.h"
#include "larmor/device/heartbeat.h"
#include "larmor/formats/pictures/small_picture.h"

#include "workloads/xray_vqa/data/mimic_questions.h"
#include "workloads/xray_vqa/data/own_questions.h"
#include "workloads/xray_vqa/data/phantom_questions.h"
#include "workloads/xray_vqa/data/question_dataset.h"
#include "workloads/xray_vqa/data/question_tables.h"
#include "workloads/xray_vqa/data/xray_phantom.h"

namespace larmor::xray_vqa {
namespace {

const std::vector<std::string> grade_words = {"A++", "A+", "A", "B", "C", "D", "unrated", "all"};

PhantomQuestions phantoms_of(const QuestionData& questions, const DataConfig& data) {
  return {.seed = static_cast<uint64_t>(data.phantom_seed),
          .studies = data.phantom_cases,
          .questions = questions.phantom_questions,
          .sizes = questions.sizes};
}

// A line now and then: writing the tables of millions of questions takes minutes.
class BuildLog {
 public:
  void show(const WorkProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::seconds(10) && progress.done < progress.all) return;
    if (progress.done == progress.all && (!said_ || said_all_)) return;
    log::info(text(progress.what, " ", progress.done, " of ", progress.all, " ", progress.unit));
    said_ = true;
    said_all_ = progress.done == progress.all;
    last_ = now;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool said_ = false, said_all_ = false;
};

// A folder for each source and each way to read it.
std::filesystem::path folder_of_tables(const QuestionData& questions, const DataConfig& data) {
  // Tables of before answers had classes by their own names alone stay for the runs that were begun on them.
  const std::string key =
      text("answers 2\n", data.kind, '\n', data.kind == table_kind ? data.list : questions.documents, '\n',
           data.folder, '\n', questions.quality_grade, '\n', static_cast<int>(questions.views), '\n',
           static_cast<int>(questions.uncertain));
  return chosen_cache_folder(data) / text("questions-", sha256(key).substr(0, 16));
}

BuiltQuestions build_tables_in(const std::filesystem::path& folder, const QuestionData& questions,
                               const DataConfig& data, Storage& storage, const ShowsProgress& shows) {
  if (data.kind == table_kind)
    return build_own_questions(storage, data.list, folder, questions.uncertain, shows);
  const bool all = questions.quality_grade == "all";
  return build_mimic_questions(storage,
                               {.images = data.folder,
                                .documents = questions.documents,
                                .tables = folder,
                                .worst = all ? Grade::unrated : *grade_called(questions.quality_grade),
                                .all_grades = all,
                                .views = questions.views,
                                .uncertain = questions.uncertain,
                                .bad_files = data.bad_files},
                               shows);
}

/// Thrown where a build would have to write.
struct IsNotBuilt {};

/// Tables that are whole are read without a lock: hosts and runs that share a cache do not wait for one
/// another.
std::optional<BuiltQuestions> whole_tables_in(const std::filesystem::path& folder,
                                              const QuestionData& questions, const DataConfig& data) {
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  FaultyStorage nothing_to_write([](const FaultyStorage::Operation& operation) {
    if (operation.name != "create_folders") throw IsNotBuilt();
  });
  try {
    return build_tables_in(folder, questions, data, nothing_to_write, [](const WorkProgress&) {});
  } catch (const IsNotBuilt&) {
    return std::nullopt;
  }
}

BuiltQuestions build_tables(const QuestionData& questions, const DataConfig& data, Storage& storage,
                            const ShowsProgress& shows) {
  const auto folder = folder_of_tables(questions, data);
  for (const auto& one : folders_to_claim(folder)) {
    if (auto built = whole_tables_in(one, questions, data)) return std::move(*built);
  }
  storage.create_folders(folder.parent_path());
  constexpr std::chrono::seconds patience(30);
  const ClaimedFolder claimed = claim_folder(folder, patience, send_heartbeat);
  storage.create_folders(claimed.folder);
  return build_tables_in(claimed.folder, questions, data, storage, [&](const WorkProgress& progress) {
    send_heartbeat();
    shows(progress);
  });
}

/// A configuration is shown and explained before there are data, so this is asked when they are looked for.
void check_places(const QuestionData& questions, const DataConfig& data) {
  if (data.kind == table_kind && data.list.empty())
    fail(Exit::usage, "data.list is empty", "name the table of questions: columns image, question, answer");
  if (data.kind == mimic_kind && (data.folder.empty() || questions.documents.empty()))
    fail(Exit::usage, "data.folder or data.questions is empty",
         "name the folders of MIMIC-CXR-JPG and of MIMIC-Ext-CXR-QBA");
  if (questions.vocabulary.empty())
    fail(Exit::usage, "data.vocabulary is empty", "name the vocab.txt or tokenizer.json of the text encoder");
}

}  // namespace

void QuestionData::describe(Fields& f) {
  f.path("questions", documents, "folder of MIMIC-Ext-CXR-QBA or of one of its exports, for kind mimic_cxr");
  f.path("vocabulary", vocabulary,
         "vocab.txt or tokenizer.json; empty: the words of the phantoms' questions");
  f.word("quality_grade", quality_grade, grade_words,
         "worst grade of the questions that are taken; all: not asked");
  f.choice("view_filter", views, {{"frontal_only", Views::frontal_only}, {"all", Views::all}},
           "images that stand for a study");
  f.choice("uncertain_labels", uncertain,
           {{"ignore", Uncertain::ignore},
            {"ones", Uncertain::ones},
            {"zeros", Uncertain::zeros},
            {"soft", Uncertain::soft}},
           "what a label becomes that the report leaves open: masked, 1, 0 or one half");
  f.field("image_size", sizes.image, "pixels of a radiograph along each side", Range{16, 4096});
  f.field("question_length", sizes.question, "tokens of a question at most, [CLS] and [SEP] among them",
          Range{2, 8192});
  f.field("most_objects", sizes.objects, "boxes of a radiograph at most; of more the first ones are taken",
          at_least_one);
  f.field("phantom_questions", phantom_questions, "questions about each radiograph, for kind phantom",
          at_least_one);
}

void QuestionData::check(const DataConfig& data) const {
  if (data.kind == phantom_kind) return;
  if (data.kind != mimic_kind && data.kind != table_kind) {
    fail(Exit::usage, text("data.kind is ", data.kind, ", and xray_vqa wants questions about radiographs"),
         "say mimic_cxr, questions (with a table in data.list), or phantom for invented ones");
  }
}

Index question_index(const QuestionData& questions, const DataConfig& data, uint64_t run_seed,
                     const ShowsProgress& shows) {
  if (data.kind == phantom_kind) return phantom_index(data, run_seed, phantoms_of(questions, data));
  check_places(questions, data);
  const auto storage = make_storage();
  BuildLog build_log;
  const ShowsProgress logs = [&build_log](const WorkProgress& progress) { build_log.show(progress); };
  const BuiltQuestions built = build_tables(questions, data, *storage, shows ? shows : logs);
  for (const BadFile& bad : built.bad) log::warning(text(bad.path, ": ", bad.reason));
  const QuestionTables tables(built.tables);
  std::vector<ListedCase> listed;
  for (int64_t row = 0; row < tables.studies(); ++row) {
    const Study study = tables.study(row);
    listed.push_back({.place = study.id,
                      .files = {{"image", study.image}},
                      .patient = study.patient,
                      .label = {},
                      .split = study.split,
                      .values = {{study_row, static_cast<double>(row)}}});
  }
  DataConfig named = data;
  if (data.kind == mimic_kind) named.list = "mimic-cxr-split";  // who says whose an image is, for people
  Index index = make_index(named, run_seed, listed);
  index.tables = built.tables;
  index.patients_by += "; " + built.sentence;
  return index;
}

int64_t count_questions(const QuestionData& questions, const Index& index, Split split) {
  const auto studies = index.of(split);
  if (index.tables.empty()) return static_cast<int64_t>(studies.size()) * questions.phantom_questions;
  const QuestionTables tables({index.table(studies_table), index.table(questions_table)});
  int64_t count = 0;
  for (const int64_t place : studies)
    count += tables.questions_of(
        static_cast<int64_t>(index.cases[static_cast<std::size_t>(place)].values.at(study_row)));
  return count;
}

std::unique_ptr<Dataset> question_dataset(const QuestionData& questions, const DataConfig& data,
                                          const Index& index, Split split) {
  const WordPiece tokenizer = question_tokenizer(questions);
  if (index.tables.empty()) return phantom_dataset(phantoms_of(questions, data), index, split, tokenizer);
  return table_dataset(index, split, tokenizer, questions.sizes);
}

WordPiece question_tokenizer(const QuestionData& questions) {
  return questions.vocabulary.empty() ? WordPiece(phantom_words()) : read_tokenizer(questions.vocabulary);
}

Vocabularies question_vocabularies(const QuestionData& questions) {
  if (!questions.names.empty()) return read_vocabularies(questions.names);
  const auto file = std::filesystem::path(questions.documents) / "metadata" / "dataset_info.json";
  if (!questions.documents.empty() && std::filesystem::exists(file)) return read_vocabularies(file);
  return questions.vocabulary.empty() ? phantom_vocabularies() : Vocabularies();
}

RadiographFile read_image(const std::filesystem::path& file, const SampleSizes& sizes) {
  const SmallPicture picture = read_small_picture(file, sizes.image, sizes.image);
  const at::Tensor& pixels = picture.pixels;
  at::Tensor image = at::empty({3, sizes.image, sizes.image});
  const int64_t area = sizes.image * sizes.image;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto plane = pixels.size(0) == 1 ? 0 : static_cast<int64_t>(channel);
    const uint8_t* const from = pixels.const_data_ptr<uint8_t>() + plane * area;
    float* const to = image.mutable_data_ptr<float>() + static_cast<int64_t>(channel) * area;
    const float scale = 1.0F / (255.0F * imagenet_deviation[channel]);
    const float shift = imagenet_mean[channel] / imagenet_deviation[channel];
    for (int64_t i = 0; i < area; ++i) to[i] = static_cast<float>(from[i]) * scale - shift;
  }
  return {image, static_cast<double>(picture.columns) / static_cast<double>(picture.rows)};
}

}  // namespace larmor::xray_vqa

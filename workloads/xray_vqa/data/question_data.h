// What the section `data` says of radiographs and questions, and what becomes of it: an index, datasets,
// words.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "larmor/base/work_progress.h"
#include "larmor/config/fields.h"
#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/text/word_piece.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/chexpert.h"
#include "workloads/xray_vqa/data/grades.h"
#include "workloads/xray_vqa/data/sample.h"
#include "workloads/xray_vqa/data/study_list.h"

namespace larmor::xray_vqa {

/// Kinds of data: invented, MIMIC-CXR-JPG with MIMIC-Ext-CXR-QBA, and anyone's own table of questions.
inline constexpr const char *phantom_kind = "phantom", *mimic_kind = "mimic_cxr", *table_kind = "questions";

struct QuestionData {
  std::string documents;   // folder of MIMIC-Ext-CXR-QBA, or one of its exports
  std::string vocabulary;  // vocab.txt or tokenizer.json; empty: the phantoms' words
  std::string names;       // no key: a file as dataset_info.json; empty: the one of `documents`
  std::string quality_grade = "A";
  Views views = Views::frontal_only;
  Uncertain uncertain = Uncertain::ignore;
  SampleSizes sizes;
  int64_t phantom_questions = 6;  // about each invented study

  /// Fields of the section `data`.
  void describe(Fields& f);
  /// Throws Error (usage).
  void check(const DataConfig& data) const;
};

/// The studies as cases, their questions as tables, which are written where they are not there yet: into the
/// cache folder. How far that is goes to `shows`, or, where it is empty, into the log now and then. Phantoms
/// have no tables. Throws Error.
Index question_index(const QuestionData& questions, const DataConfig& data, uint64_t run_seed,
                     const ShowsProgress& shows = {});
/// How many questions a split has, by counts alone.
int64_t count_questions(const QuestionData& questions, const Index& index, Split split);
std::unique_ptr<Dataset> question_dataset(const QuestionData& questions, const DataConfig& data,
                                          const Index& index, Split split);
/// Throws Error (data).
WordPiece question_tokenizer(const QuestionData& questions);
/// What answers name: the data set's regions and entities, or the phantoms'; none for a person's own table,
/// or where the data set is not at hand. Throws Error (data).
Vocabularies question_vocabularies(const QuestionData& questions);
struct RadiographFile {
  at::Tensor image;  // [3, S, S], as samples have it
  double shape = 1;  // width over height, in the file
};
/// A PNG or JPEG. Throws Error (data).
RadiographFile read_image(const std::filesystem::path& file, const SampleSizes& sizes);

}  // namespace larmor::xray_vqa

// Anyone's own images and questions, as a table: a row a question.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "larmor/base/files/storage.h"

#include "workloads/xray_vqa/data/mimic_questions.h"

namespace larmor::xray_vqa {

/// CSV with the columns `image` (a path) and `question`, and if present `answer` (a word or a class), `type`
/// (of question_types(); by the answer where there is none), `patient`, `split` (train, val, test), and any
/// of CheXpert's labels by their names, and `boxes` of what is to be seen, as objects_in_words() reads them.
/// Labels, patient, split and boxes of an image are those of its first row. A
/// row with an empty question, an unknown type or an answer that is no class of its head is left out and
/// counted. Throws Error (data) with the line: columns that are missing, labels or boxes that are none.
/// `shows`: rows read.
BuiltQuestions build_own_questions(Storage& storage, const std::filesystem::path& list,
                                   const std::filesystem::path& tables, Uncertain uncertain,
                                   const ShowsProgress& shows);

/// The class that a person's answer means under a type, or -1.
int64_t class_of_own_answer(const QuestionType& type, std::string_view answer);

/// Columns of such a table that a prediction has no use for, each with "".
std::map<std::string, std::string> columns_of_training_alone();

}  // namespace larmor::xray_vqa

// Questions about invented radiographs whose answers are known, and which nobody answers without looking: of
// each question the answers are about as frequent as one another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/text/vocabulary.h"

#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {

/// The words of the phantoms' questions, and all letters, so that anything can be asked. Brought to small
/// letters.
Vocabulary phantom_words();

/// Question `which` about study `number`: always the same for the same seed. Of all eight kinds; `objects`
/// and `labels` are the study's.
QuestionFacts phantom_question(uint64_t seed, int64_t number, int64_t which);

struct PhantomQuestions {
  uint64_t seed = 0;
  int64_t studies = 1000, questions = 6;  // of each
  SampleSizes sizes;
};

/// The studies as cases, a patient each.
Index phantom_index(const DataConfig& data, uint64_t run_seed, const PhantomQuestions& phantoms);
/// The number of the study whose name begins "xray-0007". Throws Error (data) for any other name.
int64_t phantom_number(std::string_view name);
/// Questions of a split's studies, those of a study one after the other.
std::unique_ptr<Dataset> phantom_dataset(const PhantomQuestions& phantoms, const Index& index, Split split,
                                         const WordPiece& tokenizer);

}  // namespace larmor::xray_vqa

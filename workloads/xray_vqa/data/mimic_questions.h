// MIMIC-Ext-CXR-QBA beside MIMIC-CXR-JPG: from their documents to tables of questions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/work_progress.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/table/row_table.h"

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/grades.h"
#include "workloads/xray_vqa/data/study_list.h"

namespace larmor::xray_vqa {

struct MimicQuestions {
  std::filesystem::path images;     // MIMIC-CXR-JPG
  std::filesystem::path documents;  // qa.zip or qa/, scene_data.zip or scene_data/, metadata/
  std::filesystem::path tables;     // where the tables are written
  Grade worst = Grade::a;           // of the questions that are taken
  bool all_grades = false;          // of an export that is filtered already
  Views views = Views::frontal_only;
  Uncertain uncertain = Uncertain::ignore;
  int64_t bad_files = 10;       // documents that may be damaged, as data.bad_files
  int64_t part_studies = 1000;  // documents of a part
};

struct BuiltQuestions {
  std::vector<IndexedTable> tables;
  std::vector<int64_t> by_type;  // questions taken, by place in question_types()
  Json left_out;                 // counts by reason, and of boxes outside of their image
  std::vector<BadFile> bad;      // documents
  uint64_t json_bytes = 0;       // read in this call: none where all was done before
  std::string sentence;          // for people
};

/// Parts that are done and whose documents have not changed are not read again. `shows`: documents done,
/// questions kept, bytes read. Throws Error (data): no documents, lists of regions and entities that are not
/// there, grades that cannot be decoded, more damaged documents than may be, all of them listed, or not one
/// question that is left.
BuiltQuestions build_mimic_questions(Storage& storage, const MimicQuestions& from,
                                     const ShowsProgress& shows);

/// metadata/dataset_info.json: `regions` or `region_names`, `finding_entities` or `entity_names`; lists of
/// names, of objects with a `name`, or objects whose keys are the names. Throws Error (data).
Vocabularies read_vocabularies(const std::filesystem::path& file);

}  // namespace larmor::xray_vqa

// Tables of questions from documents of JSON, on one thread: made-up studies with some hundred questions
// each, laid out as MIMIC-Ext-CXR-QBA is. As JSON, the bytes read and how many of them a second, the median
// of some builds: question_tables [QUESTIONS [BUILDS]].
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

#include "workloads/xray_vqa/data/mimic_questions.h"
#include "workloads/xray_vqa/tests/made_up_mimic.h"

namespace {

using larmor::Json;
using larmor::xray_vqa::MadeUpMimic;

// Repeats a study's made-up questions until there are so many.
void lengthen_documents(const MadeUpMimic& mimic, int64_t questions, larmor::Storage& storage) {
  constexpr int studies = 6;
  for (int study = 1; study <= studies; ++study) {
    Json document = MadeUpMimic::qa_document(study);
    const Json few = document.at("questions");
    Json& all = document.at("questions");
    for (std::size_t i = few.size(); static_cast<int64_t>(i) < questions; ++i)
      all.push_back(few[i % few.size()]);
    larmor::write_text(storage, mimic.document(study), document.dump());
  }
}

}  // namespace

int main(int count, char** words) {
  const int64_t questions = count > 1 ? std::stoll(words[1]) : 20000;
  const int builds = count > 2 ? std::stoi(words[2]) : 5;
  const larmor::ScratchFolder scratch;
  larmor::DiskStorage storage;
  const MadeUpMimic mimic(scratch.path() / "data");
  lengthen_documents(mimic, questions, storage);
  std::vector<double> seconds;
  uint64_t bytes = 0;
  int64_t rows = 0;
  for (int build = 0; build < builds; ++build) {
    const auto began = std::chrono::steady_clock::now();
    const auto built =
        larmor::xray_vqa::build_mimic_questions(storage,
                                                {.images = mimic.images(),
                                                 .documents = mimic.documents(),
                                                 .tables = scratch.path() / larmor::text("tables", build),
                                                 .worst = larmor::xray_vqa::Grade::b},
                                                [](int64_t, int64_t) {});
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    bytes = built.json_bytes;
    rows = built.tables.at(1).rows;
  }
  std::sort(seconds.begin(), seconds.end());
  const double median = seconds[seconds.size() / 2];
  std::cout << Json({{"json_bytes", bytes},
                     {"questions_kept", rows},
                     {"median_seconds", median},
                     {"megabytes_per_second", static_cast<double>(bytes) / median / 1e6}})
                   .dump()
            << "\n";
  return 0;
}

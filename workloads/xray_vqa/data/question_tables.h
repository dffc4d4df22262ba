// Studies and their questions as two tables of rows, in the same order: what training reads, however the data
// came.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/table/row_table.h"
#include "larmor/data/table/table_writer.h"

#include "workloads/xray_vqa/data/grades.h"
#include "workloads/xray_vqa/data/question_facts.h"
#include "workloads/xray_vqa/data/study_list.h"

namespace larmor::xray_vqa {

inline constexpr const char* studies_table = "studies";
inline constexpr const char* questions_table = "questions";

struct KeptQuestion {
  int64_t type = 0, answer = -1;
  Grade grade = Grade::unrated;
  std::string_view question;
};

/// Both tables, written part by part. One thread. Borrows the storage.
class QuestionTablesBuild {
 public:
  QuestionTablesBuild(Storage& storage, const std::filesystem::path& folder);

  /// A part of both; ends with finish().
  class Part {
   public:
    Part(QuestionTablesBuild& build, std::string name, std::string stamp);
    void add_question(const KeptQuestion& question);
    /// The questions since the last study are this one's.
    void end_study(const Study& study, const std::vector<SceneObject>& objects);
    void finish(const Json& notes);

   private:
    QuestionTablesBuild& build_;
    const std::string name_, stamp_;
    TableWriter studies_, questions_;
    int64_t questions_of_study_ = 0;
  };

  /// What was noted of a part that is done; null where it has to be written.
  Json noted(const std::string& part, const std::string& stamp) const;
  /// {studies, questions}
  std::vector<IndexedTable> finish(const std::vector<std::string>& parts);

 private:
  TableBuild studies_, questions_;
};

/// Rows of both tables. Thread-safe; a value.
class QuestionTables {
 public:
  /// Throws Error (data).
  explicit QuestionTables(const std::vector<IndexedTable>& tables);

  int64_t studies() const { return studies_.rows(); }
  int64_t questions() const { return questions_.rows(); }
  Study study(int64_t row) const;
  int64_t questions_of(int64_t study) const;
  std::vector<SceneObject> objects(int64_t study) const;
  /// Its words live as long as the tables.
  KeptQuestion question(int64_t row) const;

 private:
  RowTable studies_, questions_;
};

}  // namespace larmor::xray_vqa

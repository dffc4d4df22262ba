// What a call of `evaluate` judges, and what it says of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "larmor/base/declared_figure.h"
#include "larmor/base/json.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/judge/case_groups.h"
#include "larmor/judge/validation.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_index.h"
#include "larmor/task/case_columns.h"

#include "app/program.h"

namespace larmor::app {

/// What a call judges, and with what. Ranks that are threads share it, but for the task.
struct Evaluation {
  TrainedTask trained;
  LoadedStage judging;  // with all words of the call; of it are the cases
  Index start;
  JudgedCases judged;
  std::unique_ptr<Dataset> dataset, reference;
  std::unique_ptr<Dataset>
      choosing;                  // cases of val that thresholds are chosen on; null: part of those judged
  CaseColumns facts;             // of the cases, by the stage, where they were asked for
  CaseColumns known = {};        // by whoever knows them, where the cases are parted
  std::vector<std::string> by;   // the columns that part them
  std::filesystem::path output;  // the folder of tables; empty: none is wanted
  Json json;                     // of the report, before there are results
};

/// Nothing where the name is empty: what is usual for the data. Throws Error (usage).
std::optional<Split> split_named(const std::string& name);

/// What a person should know of the data, on stderr and in the report.
void tell_of_data(const JudgedCases& judged, Json& json);

/// Refuses (Error, usage) columns that do not part the cases, as far as can be told before they are judged.
void check_parts(const Evaluation& evaluation, const Task& task);
/// The parts of the cases, for ValidationOptions::groups; empty where the cases are not parted. Borrows the
/// evaluation.
std::function<CaseGroups(const CaseColumns&, std::span<const int64_t>)> parts_of(
    const Evaluation& evaluation);

/// Shows figures and writes pictures and tables; by the first rank. `choosing`: scores of the cases that
/// thresholds are chosen on. Throws Error (environment) where the tables cannot be written, once all the rest
/// is shown.
void show_result(Program& program, const ValidationResult& result, const std::vector<ScoredTruths>& choosing,
                 const DeclaredFigures& declared, const Evaluation& evaluation);

}  // namespace larmor::app

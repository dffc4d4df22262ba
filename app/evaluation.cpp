#include "app/evaluation.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <string>
#include <tuple>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/image.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/judge/case_tables.h"
#include "larmor/judge/operating_points.h"
#include "larmor/judge/paired_figures.h"

#include "app/figure_words.h"

namespace larmor::app {

namespace {

// Beside the pictures of training; a run that cannot be written to can be judged all the same.
Lines written_pictures(Storage& storage, const ValidationResult& result,
                       const std::filesystem::path& folder) {
  Lines lines;
  try {
    for (const auto& [name, image] : result.pictures) {
      storage.create_folders(folder);
      const auto file = folder / (name + ".png");
      write_png(storage, file, image);
      lines.add(text("  ", file.string()));
    }
  } catch (const Error& error) {
    log::warning(text("no pictures: ", error.message()));
  }
  return lines;
}

/// Whether the figures that are kept are of that checkpoint and have intervals, which quick ones have not.
bool keeps_intervals_of(const RunFolder& folder, const std::string& split, const std::string& checkpoint) {
  try {
    return read_json(folder.figures(split)).value("checkpoint", "") == checkpoint &&
           !read_json(folder.draws(split)).at("figures").empty();
  } catch (const std::exception&) {
    return false;  // nothing is kept that could be given up
  }
}

/// For reports and comparisons; a run that cannot be written to can be judged all the same.
void keep_figures(Storage& storage, const RunFolder& folder, const std::string& split, const Json& figures,
                  const Json& draws) {
  try {
    const bool has_intervals = !draws.at("figures").empty();
    if (!has_intervals && keeps_intervals_of(folder, split, figures.value("checkpoint", ""))) return;
    storage.create_folders(folder.evaluation(split));
    write_text(storage, folder.figures(split), to_text(figures));
    write_text(storage, folder.draws(split), draws.dump() + "\n");
  } catch (const Error& error) {
    log::warning(text("reports and comparisons will not have these figures: ", error.message()));
  }
}

/// What a split is called among the lines for a person.
std::string headline(const Evaluation& evaluation, int64_t used, int64_t patients) {
  const auto& [judged, start, trained] = std::tie(evaluation.judged, evaluation.start, evaluation.trained);
  const auto of_run = static_cast<int64_t>(start.of(judged.split).size());
  const auto whose = judged.is_other ? std::string(" of another data set than the run's")
                     : used < of_run ? text(" of the run's ", of_run)
                                     : std::string();
  const auto of_whom =
      patients == used ? std::string() : text(" (", patients, patients == 1 ? " patient)" : " patients)");
  return text(to_text(judged.split), ", ", used, used == 1 ? " case" : " cases", of_whom, whose, ", ",
              trained.checkpoint.folder.filename().string(), trained.average ? ", averaged weights" : "");
}

/// The tables, their names among the lines and in the report.
void add_tables(Storage& storage, const ValidationResult& result, const std::vector<ScoredTruths>& choosing,
                const DeclaredFigures& declared, const Evaluation& evaluation, Json& json, Lines& lines) {
  if (evaluation.output.empty()) return;
  CaseColumns facts = evaluation.facts;
  for (const std::string& name : evaluation.by) {
    const CaseColumn* const column = column_named(evaluation.known, name);
    if (column != nullptr && column_named(facts, name) == nullptr) facts.push_back(*column);
  }
  auto tables = case_tables(result, facts, declared, *evaluation.dataset, evaluation.judged.split);
  if (!result.groups.empty()) tables.push_back(groups_table(result, declared));
  if (!result.scores.empty()) {
    const auto thresholds = judge_thresholds(
        result.scores, to_text(evaluation.judged.split),
        [&](int64_t example) { return evaluation.dataset->patient(example); }, choosing, to_text(Split::val));
    tables.push_back({"roc.csv", roc_table(result.scores)});
    tables.push_back({"thresholds.csv", thresholds_table(thresholds)});
    json["thresholds"] = to_json(thresholds);
    lines.add(choosing.empty()
                  ? text("  thresholds are chosen on half of the patients of ",
                         to_text(evaluation.judged.split), " and judged on the others")
                  : text("  thresholds are chosen on val and judged on ", to_text(evaluation.judged.split)));
  }
  const auto files = write_tables(storage, evaluation.output, tables);
  for (const std::string& file : files) lines.add(text("  ", file));
  json["tables"] = files;
}

/// The columns that cases can be parted by, those of the task behind those that are known without it.
CaseColumns all_columns(const Evaluation& evaluation, const CaseColumns& of_task) {
  CaseColumns all = evaluation.known;
  for (const CaseColumn& column : of_task) {
    const auto known = std::ranges::find(all, column.name, &CaseColumn::name);
    if (known == all.end())
      all.push_back(column);
    else if (!known->fault.empty())
      *known = column;
  }
  return all;
}

}  // namespace

std::optional<Split> split_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  for (const auto split : {Split::train, Split::val, Split::test}) {
    if (to_text(split) == name) return split;
  }
  const auto near = nearest(name, std::vector<std::string>{"train", "val", "test"});
  fail(Exit::usage, text("there is no split ", name),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "say train, val or test"));
}

void check_parts(const Evaluation& evaluation, const Task& task) {
  if (evaluation.by.empty()) return;
  std::vector<int64_t> examples(static_cast<std::size_t>(evaluation.dataset->size()));
  std::iota(examples.begin(), examples.end(), int64_t{0});
  const auto columns = all_columns(evaluation, task.case_columns({}));
  for (const std::string& name : evaluation.by) groups_by(column_to_part_by(columns, name), examples);
}

std::function<CaseGroups(const CaseColumns&, std::span<const int64_t>)> parts_of(
    const Evaluation& evaluation) {
  if (evaluation.by.empty()) return {};
  return [&evaluation](const CaseColumns& of_task, std::span<const int64_t> examples) {
    const auto columns = all_columns(evaluation, of_task);
    CaseGroups all;
    for (const std::string& name : evaluation.by) {
      for (CaseGroup& group : groups_by(column_to_part_by(columns, name), examples))
        all.push_back(std::move(group));
    }
    return all;
  };
}

void tell_of_data(const JudgedCases& judged, Json& json) {
  if (judged.is_other) json["other_data"] = true;
  if (judged.changes.any()) {
    json["changes"] = to_json(judged.changes);
    log::warning(text("the data have changed since the run started; the splits are the run's:",
                      listing(judged.changes)));
  }
  if (judged.trained_on.empty()) return;
  json["trained_on"] = judged.trained_on;
  log::warning(text(judged.trained_on.size(), judged.trained_on.size() == 1 ? " patient is" : " patients are",
                    " left out, because the run, or one that it builds on, has trained on them: ",
                    join(judged.trained_on, ", ")));
}

void show_result(Program& program, const ValidationResult& result, const std::vector<ScoredTruths>& choosing,
                 const DeclaredFigures& declared, const Evaluation& evaluation) {
  const auto& trained = evaluation.trained;
  const auto& judged = evaluation.judged;
  const Dataset& dataset = *evaluation.dataset;
  Json json = evaluation.json;
  const auto used = dataset.size() - static_cast<int64_t>(result.bad.size());
  json["n"] = used;
  json["patients"] = result.patients;
  if (!result.bad.empty()) {
    json["bad"] = to_json(result.bad);
    log::warning(text(result.bad.size(), " of ", dataset.size(),
                      " cases cannot be used and count in no metric:", listing(result.bad)));
  }
  json["checkpoint"] = trained.checkpoint.folder.filename().string();
  json["averaged"] = trained.average;
  Lines lines(headline(evaluation, used, result.patients));
  add_figures(json, result, declared, dataset);
  lines.add(figure_lines(result, declared));
  const auto folder = program.run_folder();
  const auto split = to_text(judged.split);
  lines.add(written_pictures(program.storage(), result, folder.evaluation(split)));
  if (!result.groups.empty()) json["groups"] = groups_json(result, declared, dataset);
  for (const Verdict& verdict : result.verdicts) lines.add(text("  ", sentence_of(verdict)));
  lines.add(group_lines(result, declared));
  std::exception_ptr unwritten;
  try {
    add_tables(program.storage(), result, choosing, declared, evaluation, json, lines);
  } catch (const Error&) {
    unwritten = std::current_exception();  // what was computed is shown all the same
  }
  keep_figures(program.storage(), folder, split, json, draws_json(result, dataset));
  program.show(json, lines);
  if (unwritten) std::rethrow_exception(unwritten);
}

}  // namespace larmor::app

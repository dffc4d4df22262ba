#include "larmor/judge/prediction/prediction_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/data/index/case_list.h"
#include "larmor/data/index/index.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/judge/prediction/prediction_folder.h"
#include "larmor/judge/prediction/prediction_inputs.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

using Kind = PredictionInput::Kind;

const std::vector<std::string> of_training_alone = {"label", "patient", "split"};

bool is_of_training_alone(const std::string& column) {
  return is_mask(column) || std::ranges::find(of_training_alone, column) != of_training_alone.end();
}

/// Where an image of a table lies.
std::string path_of_cell(const std::string& cell, const fs::path& table, const DataConfig& trained) {
  const fs::path beside = table.parent_path() / cell;
  if (fs::exists(place_of(beside)) || trained.folder.empty()) return beside.string();
  const fs::path with_training = fs::path(trained.folder) / cell;
  return (fs::exists(place_of(with_training)) ? with_training : beside).string();
}

/// The columns of one table, by what they are to the form.
class Columns {
 public:
  Columns(const PredictionForm& form, const DataConfig& trained, const fs::path& path, const CsvTable& table)
      : form_(form), path_(path), channels_(channels_of(trained)) {
    if (form.columns) of_stage_ = form.columns(table, path.filename().string());
    const auto images = image_inputs(form);
    const auto is_known_as = [&](const std::string& word) {
      return std::ranges::any_of(table.columns,
                                 [&](const auto& column) { return meaning(column, images) == word; });
    };
    const bool is_of_training = is_known_as(of_nobody_else);
    for (const std::string& column : table.columns) {
      const auto known = meaning(column, images);
      const auto near = nearest(column, names_of_inputs(form));
      const bool may_be_misspelt = !near.empty() && !is_known_as(near);
      if (!known && (!is_of_training || may_be_misspelt)) refuse(column);
      if (!known) unread_.push_back(column);
      meanings_.push_back(known.value_or(of_nobody_else));
      const std::string& input = meanings_.back();
      if (input.empty() || input == name_of_case || is_channel(input)) continue;
      const auto [other, is_new] = column_of_.emplace(input, column);
      if (is_new) continue;
      fail(Exit::usage,
           text(path.string(), ": the columns ", other->second, " and ", column, " are both the input ",
                input),
           images.size() > 1
               ? "keep one of them"
               : "keep one of them, or say in which order they are channels of it, before --table: "
                 "data.modalities={t1: t1, t2: t2}");
    }
  }

  /// The input, "case" where the column names the outputs, or nothing.
  const std::string& operator[](std::size_t column) const { return meanings_[column]; }
  /// Whether what a column is is one of several channels of the one image: "image_t1".
  bool is_channel(const std::string& meaning) const {
    return std::ranges::any_of(channels_, [&](const auto& one) { return meaning == name_of_modality(one); });
  }
  /// The modalities of those, in the order of training.
  const std::vector<std::string>& channels() const { return channels_; }
  /// Columns that neither a prediction nor training reads.
  const std::vector<std::string>& unread() const { return unread_; }

 private:
  static constexpr const char *name_of_case = "case", *of_nobody_else = "";

  /// Nothing where nobody knows the column.
  std::optional<std::string> meaning(const std::string& column,
                                     const std::vector<std::string>& images) const {
    if (find_input(form_, column) != nullptr || column == name_of_case) return column;
    if (const auto known = of_stage_.find(column); known != of_stage_.end()) return known->second;
    if (is_of_training_alone(column)) return of_nobody_else;
    if (is_image(column)) {
      const std::string modality(modality_of(column));
      if (std::ranges::find(images, modality) != images.end()) return modality;
      if (images.size() == 1) return is_channel(column) ? column : images.front();
    }
    return std::nullopt;
  }

  [[noreturn]] void refuse(const std::string& column) const {
    const auto near = nearest(column, names_of_inputs(form_));
    std::vector<std::string> known, passed_over = of_training_alone;
    for (const auto& [other, input] : of_stage_) {
      if (input.empty())
        passed_over.push_back(other);
      else
        known.push_back(text(", and ", other, " is its ", input));
    }
    fail(Exit::usage, text(path_.string(), ": there is no input ", column),
         near.empty()
             ? text("take the column out: ", takes(form_), join(known, ""),
                    "; a column case names the outputs, and ", join(passed_over, ", "), " are passed over")
             : text("did you mean ", near, "?"));
  }

  static std::vector<std::string> channels_of(const DataConfig& trained) {
    std::vector<std::string> channels;
    for (const auto& [modality, endings] : trained.modalities.items())
      if (is_image(name_of_modality(modality))) channels.push_back(modality);
    return channels;
  }

  const PredictionForm& form_;
  const fs::path path_;
  std::map<std::string, std::string> of_stage_, column_of_;
  const std::vector<std::string> channels_;
  std::vector<std::string> meanings_, unread_;
};

/// Throws Error (data) naming the row.
void check_given_at(const std::string& place, const PredictionForm& form, const std::string& input,
                    const std::string& file) {
  try {
    check_given(*find_input(form, input), file, form);
  } catch (const Error& error) {
    throw error.within(place);
  }
}

/// Takes the files of a case after a look at those that are images.
void give_files(const PredictionForm& form, const std::string& place,
                const std::vector<std::string>& channels, const std::map<std::string, std::string>& files,
                PredictionCase& one) {
  take_files(form, channels, files, one);
  for (const std::string& input : image_inputs(form)) {
    if (one.inputs.contains(input)) check_given_at(place, form, input, one.inputs.at(input));
  }
  for (const auto& [input, further] : one.further) {
    for (const std::string& file : further) check_given_at(place, form, input, file);
  }
}

void finish(const PredictionForm& form, const std::string& place, std::size_t number, PredictionCase& one) {
  refuse_missing(form, [&](const std::string& name) { return one.inputs.contains(name); }, place + ": ");
  if (one.name.empty()) one.name = numbered("case", static_cast<int64_t>(number));
  one.label = one.name;
}

GivenImages cases_of_csv(const PredictionForm& form, const DataConfig& trained, const fs::path& path) {
  const auto table = parse_csv(read_text(path), path.filename().string());
  const Columns columns(form, trained, path, table);
  GivenImages given{.cases = {}, .of_folder = true};
  for (const auto& row : table.rows) {
    const auto place = text(path.filename().string(), ':', row.line);
    PredictionCase one;
    std::map<std::string, std::string> channels;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const auto& cell = row.cells[i];
      const auto* const input = find_input(form, columns[i]);
      if (columns[i].empty() || (cell.empty() && (input == nullptr || !input->may_be_empty))) continue;
      if (columns[i] == "case") {
        one.name = cell;
      } else if (columns.is_channel(columns[i])) {
        channels[columns[i]] = path_of_cell(cell, path, trained);
      } else {
        const bool is_text = input->kind == Kind::text;
        const std::string& value = one.inputs[columns[i]] =
            is_text ? cell : path_of_cell(cell, path, trained);
        check_given_at(place, form, columns[i], value);
      }
    }
    if (!channels.empty()) give_files(form, place, columns.channels(), channels, one);
    finish(form, place, given.cases.size(), one);
    given.cases.push_back(std::move(one));
  }
  if (!columns.unread().empty())
    given.account.warnings.push_back(
        text(path.filename().string(), ": nothing reads the columns ", join(columns.unread(), ", ")));
  return given;
}

GivenImages cases_of_json(const PredictionForm& form, const DataConfig& trained, const fs::path& path) {
  GivenImages given{.cases = {}, .of_folder = true};
  for (const ListedCase& listed : read_case_list(path)) {
    PredictionCase one;
    auto files = listed.files;
    for (auto& [name, file] : files) file = path_of_cell(file, path, trained);
    give_files(form, listed.place, listed.modalities, files, one);
    finish(form, listed.place, given.cases.size(), one);
    given.cases.push_back(std::move(one));
  }
  return given;
}

}  // namespace

GivenImages cases_of_table(const PredictionForm& form, const DataConfig& trained, const fs::path& path) {
  if (!fs::is_regular_file(path))
    fail(Exit::usage, text("there is no table ", path.string()), "check --table");
  const bool is_json = lower(path.extension().string()) == ".json";
  auto given = is_json ? cases_of_json(form, trained, path) : cases_of_csv(form, trained, path);
  if (given.cases.empty()) fail(Exit::data, text(path.string(), " has no rows"), "give one case a row");
  return given;
}

}  // namespace larmor

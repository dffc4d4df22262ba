#include "larmor/judge/prediction/prediction_output.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/dicom/dicom_series.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

void refuse_what_is_not_finite(const fs::path& file, const at::Tensor& voxels) {
  const at::Tensor all = voxels.to(at::kCPU, at::kFloat).contiguous();
  const auto size = static_cast<std::size_t>(all.numel());
  const int64_t count = count_not_finite({all.const_data_ptr<float>(), size});
  if (count == 0) return;
  fail(Exit::numerics,
       text(file.string(), " is not written: ", count, " of its ", size,
            " voxels were computed as NaN or infinite"),
       "compute it with train.precision=fp32, or by another checkpoint of the run (--checkpoint)");
}

/// The images that are read, by their input's kind.
std::vector<fs::path> image_files(const PredictionForm& form, const PredictionCase& one) {
  std::vector<fs::path> files;
  for (const auto& input : form.inputs) {
    const auto given = one.inputs.find(input.name);
    if (input.kind == PredictionInput::Kind::image && given != one.inputs.end())
      files.emplace_back(given->second);
  }
  for (const auto& [name, further] : one.further) files.insert(files.end(), further.begin(), further.end());
  return files;
}

void refuse_inputs_as_output(const fs::path& output, const std::vector<fs::path>& inputs) {
  for (const auto& input : inputs) {
    std::error_code absent;
    if (!fs::equivalent(output, input, absent)) continue;
    fail(Exit::usage, text("the output ", output.string(), " is an input"), "name another with --output");
  }
}

/// An input is never written over, and no two outputs are the same file.
void check_outputs(const PredictionForm& form, const std::vector<PredictionCase>& cases,
                   const PredictionFiles& files) {
  std::vector<fs::path> inputs;
  for (const auto& one : cases) {
    for (const auto& input : form.inputs) {
      const auto given = one.inputs.find(input.name);
      if (input.kind != PredictionInput::Kind::text && given != one.inputs.end())
        inputs.emplace_back(given->second);
    }
  }
  std::map<fs::path, std::string> label_of;
  const auto note = [&](const fs::path& output, const std::string& label) {
    const auto [other, is_new] = label_of.emplace(output, label);
    if (is_new) return;
    fail(Exit::usage, text(other->second, " and ", label, " would both be written to ", output.string()),
         "predict them into folders of their own");
  };
  for (const auto& name : form.pictures) {
    for (const auto& one : cases) note(files.picture(one, name), one.label);
  }
  for (const auto& name : form.volumes) {
    for (const auto& one : cases) note(files.volume(one, name), one.label);
    for (const auto& one : sampled_cases(cases)) {
      note(files.mean(one, name), text("the mean of ", one.label));
      note(files.deviation(one, name), text("the deviation of ", one.label));
    }
  }
  for (const auto& [output, label] : label_of) refuse_inputs_as_output(output, inputs);
  if (!files.table().empty()) refuse_inputs_as_output(files.table(), inputs);
}

/// JSON has no NaN and no infinity.
Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// The names of all results, in the order in which they are met.
template <class Value>
std::vector<std::string> columns_of(const std::vector<PredictedCase>& results,
                                    std::vector<std::pair<std::string, Value>> PredictedCase::* named) {
  std::vector<std::string> columns;
  for (const auto& result : results) {
    for (const auto& [name, value] : result.*named) {
      if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
    }
  }
  return columns;
}

template <class Value>
std::string cells_of(const std::vector<std::string>& columns,
                     const std::vector<std::pair<std::string, Value>>& named) {
  std::string cells;
  for (const auto& column : columns) {
    const auto found = std::ranges::find(named, column, &std::pair<std::string, Value>::first);
    cells += "," + (found == named.end() ? std::string() : csv_cell(text(found->second)));
  }
  return cells;
}

/// Texts that were given stand beside what was said of them.
std::vector<std::string> given_texts(const PredictionForm& form) {
  std::vector<std::string> names;
  for (const auto& input : form.inputs) {
    if (input.kind == PredictionInput::Kind::text) names.push_back(input.name);
  }
  return names;
}

}  // namespace

PredictionFiles::PredictionFiles(const PredictionForm& form, const PredictionCases& cases, fs::path output)
    : volumes_(form.volumes), output_(std::move(output)) {
  std::error_code unknown;  // is said where it is written
  const bool is_folder = !output_.empty() && (fs::is_directory(output_, unknown) || !output_.has_filename());
  const bool is_table = form.volumes.empty();
  into_folder_ = is_folder || (!is_table && (cases.of_folder || cases.cases.size() > 1));
  check_outputs(form, cases.cases, *this);
}

fs::path PredictionFiles::volume(const PredictionCase& one, const std::string& name) const {
  const bool is_one = volumes_.size() == 1;
  if (into_folder_) return output_ / text(one.name, is_one ? "" : "-" + name, ".nii.gz");
  if (is_one) return output_;
  auto stem = output_.filename().string();
  auto suffix = std::string();
  for (const auto* const known : {".nii.gz", ".nii"}) {
    if (!suffix.empty() || !lower(stem).ends_with(known)) continue;
    suffix = stem.substr(stem.size() - std::string_view(known).size());
    stem.resize(stem.size() - suffix.size());
  }
  return output_.parent_path() / text(stem, "-", name, suffix);
}

fs::path PredictionFiles::mean(const PredictionCase& one, const std::string& name) const {
  return volume({.name = one.name + "-mean"}, name);
}

fs::path PredictionFiles::deviation(const PredictionCase& one, const std::string& name) const {
  return volume({.name = one.name + "-deviation"}, name);
}

fs::path PredictionFiles::picture(const PredictionCase& one, const std::string& name) const {
  return (into_folder_ ? output_ : output_.parent_path()) / text(one.name, "-", name, ".png");
}

fs::path PredictionFiles::table() const {
  if (into_folder_) return output_ / "predictions.csv";
  return volumes_.empty() ? output_ : fs::path();
}

Json to_json(const PredictedCase& one) {
  Json numbers = Json::array();
  for (const auto& [name, value] : one.numbers) numbers.push_back({name, or_null(value)});
  return {{"files", Json(one.files)}, {"numbers", numbers},
          {"words", Json(one.words)}, {"missing", Json(one.missing)},
          {"failure", one.failure},   {"hint", one.hint},
          {"exit", one.exit}};
}

PredictedCase predicted_case_from_json(const Json& json) {
  PredictedCase one;
  json.at("files").get_to(one.files);
  for (const auto& row : json.at("numbers")) {
    const double known = row[1].is_null() ? std::numeric_limits<double>::quiet_NaN() : row[1].get<double>();
    one.numbers.emplace_back(row[0].get<std::string>(), known);
  }
  json.at("words").get_to(one.words);
  json.at("missing").get_to(one.missing);
  json.at("failure").get_to(one.failure);
  json.at("hint").get_to(one.hint);
  json.at("exit").get_to(one.exit);
  return one;
}

void write_volume(Storage& storage, const fs::path& file, const PredictionForm& form,
                  const PredictionCase& one, const Volume& volume) {
  const auto images = image_files(form, one);
  refuse_what_is_not_finite(file, volume.voxels);
  if (file.has_parent_path()) storage.create_folders(file.parent_path());
  write_nifti(storage, file, volume, images.empty() ? fs::path() : images.front(), form.header_text);
}

PredictedCase write_prediction(Storage& storage, const PredictionFiles& files, const PredictionForm& form,
                               const PredictionCase& one, const Prediction& prediction) {
  PredictedCase result{
      .numbers = prediction.numbers, .words = prediction.words, .missing = prediction.missing};
  for (const auto& name : form.volumes) {
    const auto file = files.volume(one, name);
    write_volume(storage, file, form, one, prediction.volumes.at(name));
    result.files.emplace_back(name, file.string());
  }
  for (const auto& name : form.pictures) {
    const auto file = files.picture(one, name);
    if (file.has_parent_path()) storage.create_folders(file.parent_path());
    write_output(storage, file, encode_png(prediction.pictures.at(name)));
    result.files.emplace_back(name, file.string());
  }
  return result;
}

std::vector<std::string> prediction_table(const PredictionForm& form,
                                          const std::vector<PredictionCase>& cases,
                                          const std::vector<PredictedCase>& results) {
  const auto texts = given_texts(form);
  const auto numbers = columns_of(results, &PredictedCase::numbers);
  const auto words = columns_of(results, &PredictedCase::words);
  std::string names = "case";
  for (const auto* const group : {&texts, &numbers, &words}) {
    for (const auto& name : *group) names += "," + csv_cell(name);
  }
  std::vector<std::string> lines{names};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!results[i].failure.empty()) continue;
    std::string line = csv_words(cases[i].label);
    for (const auto& name : texts) {
      const auto given = cases[i].inputs.find(name);
      line += "," + (given == cases[i].inputs.end() ? std::string() : csv_words(given->second));
    }
    lines.push_back(line + cells_of(numbers, results[i].numbers) + cells_of(words, results[i].words));
  }
  return lines;
}

Json prediction_json(const PredictionFiles& files, const std::vector<PredictionCase>& cases,
                     const std::vector<PredictedCase>& results) {
  Json all = Json::array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& one = cases[i];
    const auto& result = results[i];
    if (!result.failure.empty()) continue;
    Json row{
        {"case", one.name}, {"inputs", one.inputs}, {"outputs", Json::object()}, {"values", Json::object()}};
    if (!one.further.empty()) row["further"] = one.further;
    for (const auto& [name, file] : result.files) row["outputs"][name] = file;
    for (const auto& [name, value] : result.numbers) row["values"][name] = or_null(value);
    for (const auto& [name, value] : result.words) row["values"][name] = value;
    for (const auto& [name, reason] : result.missing) {
      row["values"][name] = nullptr;
      row["missing"][name] = reason;
    }
    if (one.inputs.size() == 1) {
      const Json values = row["values"];
      row["input"] = one.inputs.begin()->second;
      row["output"] = result.files.empty() ? files.table().string() : result.files.front().second;
      for (const auto& [name, value] : values.items()) {
        if (!row.contains(name)) row[name] = value;
      }
    }
    all.push_back(std::move(row));
  }
  return all;
}

}  // namespace larmor

#include "larmor/judge/prediction/prediction_folder.h"

#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/index.h"
#include "larmor/data/index/named_folder.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/judge/prediction/prediction_inputs.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

std::optional<NamedFolder> named_cases(const PredictionForm& form, const DataConfig& trained,
                                       const std::string& folder) {
  if (form.cases_of_folder) return form.cases_of_folder(trained, folder);
  const auto images = image_inputs(form);
  return cases_of_named_folder(trained, images.size() > 1 ? images : std::vector<std::string>(), folder);
}

GivenImages cases_of(const PredictionForm& form, NamedFolder named, const std::string& folder) {
  GivenImages given{.cases = {}, .of_folder = named.cases.size() > 1, .account = std::move(named.account)};
  for (auto& [name, files] : named.cases) {
    const bool is_the_folder = fs::path(files.begin()->second).parent_path().empty();
    given.of_folder = given.of_folder || !is_the_folder;
    for (auto& [kind, file] : files) file = (fs::path(folder) / file).string();
    auto& one = given.cases.emplace_back();
    one.name = name.empty() ? stem_of(folder) : name;
    const bool is_all = is_the_folder && named.cases.size() == 1;
    one.label = is_all ? folder : (fs::path(folder) / name).string();
    take_files(form, named.channels, files, one);
  }
  return given;
}

GivenImages images_of(const NamedImages& found, const std::string& input, const std::string& folder) {
  GivenImages given{.cases = {}, .of_folder = true, .account = found.account};
  std::map<fs::path, int> images_at;  // a folder has several series
  for (const auto& path : found.images) ++images_at[place_of(path)];
  given.of_folder = found.images.size() > 1 || place_of(found.images.front()) != fs::path(folder);
  for (const auto& path : found.images) {
    const fs::path place = place_of(path), named = images_at.at(place) == 1 ? place : path;
    auto below = given.of_folder ? named.lexically_relative(folder).parent_path() : fs::path();
    if (!below.empty() && *below.begin() == "..") below.clear();  // FOLDER#SERIES stands beside the folder
    auto& one = given.cases.emplace_back();
    one.name = (below / stem_of(named)).string();
    one.label = one.inputs[input] = path.string();
  }
  return given;
}

}  // namespace

void GivenImages::join(GivenImages other) {
  cases.insert(cases.end(), std::make_move_iterator(other.cases.begin()),
               std::make_move_iterator(other.cases.end()));
  of_folder = of_folder || other.of_folder;
  account.join(std::move(other.account));
}

void take_files(const PredictionForm& form, const std::vector<std::string>& channels,
                const std::map<std::string, std::string>& files, PredictionCase& one) {
  const auto images = image_inputs(form);
  if (images.size() > 1) {
    for (const std::string& input : images) {
      const auto file = files.find(name_of_modality(input));
      if (file != files.end()) one.inputs[input] = file->second;
      if (file == files.end() && !find_input(form, input)->is_optional && one.fault.empty())
        one.fault = text("has no ", input, ", and all of ", join(images, ", "), " are needed");
    }
    return;
  }
  const std::string& input = images.front();
  const bool is_named = channels.empty() && files.contains(name_of_modality(input));
  std::vector<std::string> wanted = channels;
  if (wanted.empty()) wanted.push_back(is_named || form.cases_of_folder ? input : "image");
  std::vector<std::string> given;
  for (const std::string& channel : wanted) {
    const auto file = files.find(name_of_modality(channel));
    if (file != files.end())
      given.push_back(file->second);
    else if (one.fault.empty())
      one.fault = text("has no ", channel, wanted.size() > 1 ? ", and all of " : "",
                       wanted.size() > 1 ? join(wanted, ", ") + " are needed" : "");
  }
  if (given.empty()) return;
  one.inputs[input] = given.front();
  if (given.size() > 1) one.further[input] = {given.begin() + 1, given.end()};
}

GivenImages cases_given(const PredictionForm& form, const DataConfig& trained, const std::string& folder) {
  auto named = named_cases(form, trained, folder);
  if (!named) {
    fail(Exit::usage, text(folder, " holds no cases that are told by the names of their files"),
         text("name each input: --input ", join(image_inputs(form), "=FILE --input "), "=FILE"));
  }
  return cases_of(form, *std::move(named), folder);
}

GivenImages images_given(const PredictionForm& form, const DataConfig& trained, const std::string& input,
                         const std::string& value) {
  if (!fs::is_directory(value)) {
    GivenImages given;
    auto& one = given.cases.emplace_back();
    one.name = stem_of(value);
    one.label = one.inputs[input] = value;
    return given;
  }
  if (image_inputs(form).size() == 1) {
    if (auto named = named_cases(form, trained, value)) return cases_of(form, *std::move(named), value);
  }
  return images_of(images_of_named_folder(trained, value), input, value);
}

}  // namespace larmor

#include "larmor/judge/prediction/prediction_cases.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/judge/prediction/prediction_folder.h"
#include "larmor/judge/prediction/prediction_inputs.h"
#include "larmor/judge/prediction/prediction_table.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

using Kind = PredictionInput::Kind;

/// Whether `word` begins as NAME=VALUE does.
bool names_something(const std::string& word) {
  const auto sign = word.find('=');
  if (sign == std::string::npos || sign == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(sign),
                     [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

[[noreturn]] void refuse_unknown(const PredictionForm& form, const std::string& name) {
  const auto near = nearest(name, names_of_inputs(form));
  fail(Exit::usage, text("there is no input ", name),
       near.empty() ? takes(form) : text("did you mean ", near, "?"));
}

/// What words say, in the order in which they were given.
struct Given {
  std::map<std::string, std::vector<std::string>> values = {};  // by input
  std::vector<std::string> folders = {};                        // that hold several images of a case
  bool contains(const std::string& name) const { return values.contains(name); }
};

Given split_words(const PredictionForm& form, const std::vector<std::string>& words) {
  Given given;
  const auto images = image_inputs(form);
  for (const auto& word : words) {
    const auto sign = word.find('=');
    if (const auto* input = sign == std::string::npos ? nullptr : find_input(form, word.substr(0, sign))) {
      given.values[input->name].push_back(word.substr(sign + 1));
      continue;
    }
    if (form.inputs.empty())
      fail(Exit::usage, text("--input ", word, ": this stage takes no input"), takes(form));
    const auto& first = form.inputs.front();
    const bool is_file = first.kind == Kind::image && fs::exists(place_of(word));
    if (!is_file && names_something(word)) refuse_unknown(form, word.substr(0, sign));
    const bool is_of_cases = is_file && images.size() > 1 && fs::is_directory(word);
    (is_of_cases ? given.folders : given.values[first.name]).push_back(word);
  }
  // Where another image is named by itself, a folder without a name is one series of the first input.
  const bool names_images =
      std::ranges::any_of(images, [&](const std::string& name) { return given.contains(name); });
  if (names_images && !given.folders.empty()) {
    auto& of_first = given.values[form.inputs.front().name];
    of_first.insert(of_first.end(), given.folders.begin(), given.folders.end());
    given.folders.clear();
  }
  return given;
}

/// The images of each case, its texts to be added.
GivenImages images_of_cases(const PredictionForm& form, const DataConfig& trained, const Given& given) {
  GivenImages all;
  for (const std::string& folder : given.folders) all.join(cases_given(form, trained, folder));
  if (!given.folders.empty()) {
    all.of_folder = all.of_folder || all.cases.size() > 1;
    return all;
  }
  const auto images = image_inputs(form);
  all.cases.resize(1);
  for (const std::string& input : images) {
    const auto found = given.values.find(input);
    if (found == given.values.end()) continue;
    GivenImages here;
    for (const auto& value : found->second) {
      check_given(*find_input(form, input), value, form);
      here.join(images_given(form, trained, input, value));
    }
    if (here.cases.size() > 1 && images.size() > 1) {
      fail(Exit::usage, text("the input ", input, " is given ", here.cases.size(), " times"),
           "give each input once, a folder of cases without a name (--input FOLDER), or many cases with "
           "--table FILE.csv");
    }
    if (images.size() == 1) return here;
    auto& one = all.cases.front();
    auto& more = here.cases.front();
    one.inputs.merge(more.inputs);
    if (one.name.empty()) one.name = more.name;
    if (one.label.empty()) one.label = more.label;
    all.of_folder = all.of_folder || here.of_folder;
    all.account.join(std::move(here.account));
  }
  return all;
}

/// Each text, and each file of one, a case of each image.
std::vector<PredictionCase> with_texts(const PredictionForm& form, const Given& given,
                                       std::vector<PredictionCase> cases) {
  for (const auto& input : form.inputs) {
    const auto found = given.values.find(input.name);
    if (input.kind == Kind::image || found == given.values.end()) continue;
    for (const auto& value : found->second) check_given(input, value, form);
    std::vector<PredictionCase> more;
    for (const auto& one : cases) {
      for (std::size_t i = 0; i < found->second.size(); ++i) {
        auto& next = more.emplace_back(one);
        next.inputs[input.name] = found->second[i];
        if (found->second.size() > 1) next.name += text("-", i);
      }
    }
    cases = std::move(more);
  }
  return cases;
}

void check_count(int64_t count) {
  if (count < 1) fail(Exit::usage, text("--count is ", count), "ask for one sample at least");
}

std::vector<PredictionCase> samples(int64_t count) {
  check_count(count);
  std::vector<PredictionCase> cases;
  for (int64_t i = 0; i < count; ++i) {
    const auto name = numbered("sample", i);
    cases.push_back({.name = name, .label = name});
  }
  return cases;
}

void check_kinds(const PredictionForm& form, const PredictionRequest& request) {
  const bool has_inputs = !request.inputs.empty(), has_table = !request.table.empty();
  if (has_inputs && has_table)
    fail(Exit::usage, "--input and --table say twice what the cases are", "leave one of them out");
  if (form.inputs.empty() && has_table) fail(Exit::usage, "--table: this stage takes no input", takes(form));
  if (!request.count || form.draws) return;
  const bool may_sample = std::ranges::all_of(form.inputs, &PredictionInput::is_optional);
  if (has_inputs || has_table || !may_sample) {
    fail(Exit::usage, "--count is for stages that draw, and for those that sample without input",
         may_sample ? "leave out --count, or the inputs" : takes(form));
  }
}

/// Each case `count` times over.
std::vector<PredictionCase> with_samples(const std::vector<PredictionCase>& cases, int64_t count) {
  check_count(count);
  if (count == 1) return cases;
  std::vector<PredictionCase> samples;
  for (const auto& one : cases) {
    for (int64_t number = 0; number < count; ++number) {
      auto& sample = samples.emplace_back(one);
      sample.name = numbered(one.name, number);
      sample.label = text(one.label, " (sample ", number, ")");
      sample.sample = number;
      sample.sample_of = one.name;
    }
  }
  return samples;
}

/// Everything that a call is about, each case once.
PredictionCases whole_cases(const PredictionForm& form, const PredictionRequest& request,
                            const DataConfig& trained) {
  if (!request.table.empty()) {
    GivenImages listed = cases_of_table(form, trained, request.table);
    return {.cases = std::move(listed.cases), .of_folder = true, .account = std::move(listed.account)};
  }
  const auto given = split_words(form, request.inputs);
  const auto is_given = [&](const std::string& name) {
    const bool is_of_folder = !given.folders.empty() && find_input(form, name)->kind == Kind::image;
    return is_of_folder || given.contains(name);
  };
  refuse_missing(form, is_given, "");
  if (given.values.empty() && given.folders.empty()) return {.cases = samples(request.count.value_or(1))};
  GivenImages images = images_of_cases(form, trained, given);
  PredictionCases found{.cases = with_texts(form, given, std::move(images.cases)),
                        .of_folder = images.of_folder,
                        .account = std::move(images.account)};
  for (auto& one : found.cases) {
    if (one.name.empty() || one.name.starts_with('-')) one.name = "case" + one.name;
    if (one.label.empty()) one.label = one.name;
  }
  return found;
}

void check_cases(const PredictionForm& form, const std::vector<PredictionCase>& cases) {
  if (!form.check) return;
  for (const auto& one : cases) {
    try {
      form.check(one.inputs);
    } catch (const Error& error) {
      if (cases.size() == 1) throw;
      throw error.within(one.label);
    }
  }
}

}  // namespace

Json to_json(const PredictionCases& found) {
  Json cases = Json::array();
  for (const auto& one : found.cases) {
    cases.push_back({{"name", one.name},
                     {"label", one.label},
                     {"inputs", one.inputs},
                     {"further", one.further},
                     {"fault", one.fault},
                     {"number", one.number},
                     {"sample", one.sample},
                     {"sample_of", one.sample_of}});
  }
  return {{"cases", cases}, {"of_folder", found.of_folder}};
}

PredictionCases prediction_cases_from_json(const Json& json) {
  PredictionCases found{.cases = {}, .of_folder = json.at("of_folder").get<bool>()};
  for (const auto& one : json.at("cases")) {
    found.cases.push_back(
        {.name = one.at("name").get<std::string>(),
         .label = one.at("label").get<std::string>(),
         .inputs = one.at("inputs").get<std::map<std::string, std::string>>(),
         .further = one.at("further").get<std::map<std::string, std::vector<std::string>>>(),
         .fault = one.at("fault").get<std::string>(),
         .number = one.at("number").get<int64_t>(),
         .sample = one.at("sample").get<int64_t>(),
         .sample_of = one.at("sample_of").get<std::string>()});
  }
  return found;
}

PredictionCases find_prediction_cases(const PredictionForm& form, const PredictionRequest& request,
                                      const DataConfig& trained) {
  check_kinds(form, request);
  auto found = whole_cases(form, request, trained);
  const bool has_given = !request.inputs.empty() || !request.table.empty();
  if (has_given) check_cases(form, found.cases);
  for (std::size_t i = 0; i < found.cases.size(); ++i) found.cases[i].number = static_cast<int64_t>(i);
  if (has_given) found.cases = with_samples(found.cases, request.count.value_or(1));
  return found;
}

std::vector<std::string> account_messages(const FileAccount& account) {
  std::vector<std::string> words = account.warnings;
  for (const auto& [reason, files] : account.passed_over)
    words.push_back(text("passed over: ", files.size(), files.size() == 1 ? " file, " : " files, ", reason,
                         " (", files.front(), ')'));
  return words;
}

std::vector<PredictionCase> sampled_cases(const std::vector<PredictionCase>& cases) {
  std::vector<PredictionCase> sampled;
  for (const auto& one : cases) {
    if (one.sample_of.empty() || one.sample > 0) continue;
    auto& whole = sampled.emplace_back(one);
    whole.name = whole.label = std::exchange(whole.sample_of, {});
  }
  return sampled;
}

}  // namespace larmor

#include "larmor/train/prediction_cases.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/formats/folder_images.h"
#include "larmor/formats/mistaken_file.h"

namespace larmor {

namespace {

namespace fs = std::filesystem;

using Kind = PredictionInput::Kind;

std::vector<std::string> names_of(const PredictionForm& form) {
  std::vector<std::string> names;
  for (const auto& input : form.inputs) names.push_back(input.name);
  return names;
}

const PredictionInput* find_input(const PredictionForm& form, std::string_view name) {
  const auto found = std::ranges::find(form.inputs, name, &PredictionInput::name);
  return found == form.inputs.end() ? nullptr : &*found;
}

std::string takes(const PredictionForm& form) {
  return form.inputs.empty() ? "this stage samples: say --count N in place of inputs"
                             : text("the inputs of this stage are: ", join(names_of(form), ", "));
}

[[noreturn]] void refuse_unknown(const PredictionForm& form, const std::string& name) {
  const auto near = nearest(name, names_of(form));
  fail(Exit::usage, text("there is no input ", name),
       near.empty() ? takes(form) : text("did you mean ", near, "?"));
}

/// Whether `word` begins as NAME=VALUE does.
bool names_something(const std::string& word) {
  const auto sign = word.find('=');
  if (sign == std::string::npos || sign == 0) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(sign),
                     [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

void check_image(const std::string& name, const std::string& value, const PredictionForm& form) {
  if (!fs::exists(place_of(value))) {
    if (form.inputs.size() > 1)
      fail(Exit::data, text(name, " is an image, and there is no file or folder ", value), takes(form));
    fail(Exit::data, text("there is no file or folder ", value), "check --input");
  }
  if (const auto mistaken = mistaken_file(value); mistaken && known_suffix(value).empty())
    fail(Exit::data, text(value, " ", mistaken->what), mistaken->remedy);
  if (naming(value, [&] { return may_hold_image(value); })) return;
  fail(Exit::data, text(value, " is no image that larmor reads"),
       text("give one of ", known_suffixes(), ", or a folder of them"));
}

/// Of an input that is no text.
void check_given(const PredictionInput& input, const std::string& value, const PredictionForm& form) {
  if (input.kind == Kind::image) check_image(input.name, value, form);
  if (input.kind == Kind::file && !fs::is_regular_file(value))
    fail(Exit::data, text("there is no file ", value), text("check the input ", input.name));
}

/// Values by input, in the order in which they were given.
using Given = std::map<std::string, std::vector<std::string>>;

Given split_words(const PredictionForm& form, const std::vector<std::string>& words) {
  Given given;
  for (const auto& word : words) {
    const auto sign = word.find('=');
    if (const auto* input = sign == std::string::npos ? nullptr : find_input(form, word.substr(0, sign))) {
      given[input->name].push_back(word.substr(sign + 1));
      continue;
    }
    if (form.inputs.empty())
      fail(Exit::usage, text("--input ", word, ": this stage takes no input"), takes(form));
    const auto& first = form.inputs.front();
    const bool is_file = first.kind == Kind::image && fs::exists(place_of(word));
    if (!is_file && names_something(word)) refuse_unknown(form, word.substr(0, sign));
    given[first.name].push_back(word);
  }
  return given;
}

void refuse_missing(const PredictionForm& form, const auto& is_given, const std::string& where) {
  for (const auto& input : form.inputs) {
    if (input.is_optional || is_given(input.name)) continue;
    fail(Exit::usage, text(where, "the input ", input.name, " is missing"),
         text("say --input ", form.inputs.size() > 1 ? input.name + "=" : "",
              input.kind == Kind::text ? "TEXT" : "FILE"));
  }
}

/// What the outputs of an image are called: "head" for head.nii.gz.
std::string stem_of(const fs::path& image) {
  const auto name = image.filename().string();
  const auto suffix = known_suffix(image);
  if (!suffix.empty()) return name.substr(0, name.size() - suffix.size());
  const auto series = name.find('#');
  if (series != std::string::npos) return name.substr(0, series) + "-" + name.substr(series + 1);
  if (fs::is_directory(image)) {
    const auto folder = fs::absolute(image).lexically_normal();
    return (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  }
  return image.stem().string();
}

struct NamedImage {
  std::string path, name;
};

/// The images that a value stands for. Those of a folder are called by their paths below it.
std::vector<NamedImage> images_of(const std::string& value, bool& of_folder) {
  if (!fs::is_directory(value)) return {{value, stem_of(value)}};
  const auto found = images_below(value);
  const bool is_one_series = found.size() == 1 && found.front() == fs::path(value);
  of_folder = of_folder || !is_one_series;
  std::vector<NamedImage> images;
  for (const auto& path : found) {
    auto below = is_one_series ? fs::path() : path.lexically_relative(value).parent_path();
    if (!below.empty() && *below.begin() == "..") below.clear();  // FOLDER#SERIES stands beside the folder
    images.push_back({path.string(), (below / stem_of(path)).string()});
  }
  return images;
}

int64_t count_images(const PredictionForm& form) {
  return std::ranges::count(form.inputs, Kind::image, &PredictionInput::kind);
}

/// The images of each case, its texts to be added.
std::vector<PredictionCase> cases_of_images(const PredictionForm& form, const Given& given, bool& of_folder) {
  std::vector<PredictionCase> cases(1);
  for (const auto& input : form.inputs) {
    const auto found = given.find(input.name);
    if (input.kind != Kind::image || found == given.end()) continue;
    std::vector<NamedImage> images;
    for (const auto& value : found->second) {
      check_given(input, value, form);
      const auto here = images_of(value, of_folder);
      images.insert(images.end(), here.begin(), here.end());
    }
    if (images.size() > 1 && count_images(form) > 1) {
      fail(Exit::usage, text("the input ", input.name, " is given ", images.size(), " times"),
           "give each input once, or many cases with --table FILE.csv");
    }
    cases.resize(images.size(), cases.front());
    for (std::size_t i = 0; i < images.size(); ++i) {
      auto& one = cases[i];
      one.inputs[input.name] = images[i].path;
      if (one.name.empty()) one.name = images[i].name;
      if (one.label.empty()) one.label = images[i].path;
    }
  }
  return cases;
}

/// Each text, and each file of one, a case of each image.
std::vector<PredictionCase> with_texts(const PredictionForm& form, const Given& given,
                                       std::vector<PredictionCase> cases) {
  for (const auto& input : form.inputs) {
    const auto found = given.find(input.name);
    if (input.kind == Kind::image || found == given.end()) continue;
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

std::string numbered(const std::string& word, int64_t number) {
  constexpr std::size_t digits = 4;
  auto count = text(number);
  if (count.size() < digits) count.insert(0, digits - count.size(), '0');
  return text(word, "-", count);
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

PredictionCase case_of_row(const PredictionForm& form, const fs::path& table, const CsvTable& columns,
                           const CsvTable::Row& row, int64_t number) {
  const auto place = text(table.filename().string(), ':', row.line);
  PredictionCase one;
  for (std::size_t i = 0; i < columns.columns.size(); ++i) {
    const auto& column = columns.columns[i];
    const auto& cell = row.cells[i];
    if (cell.empty()) continue;
    if (column == "case") {
      one.name = cell;
      continue;
    }
    const auto* input = find_input(form, column);
    auto value = input->kind == Kind::text ? cell : (table.parent_path() / cell).string();
    try {
      check_given(*input, value, form);
    } catch (const Error& error) {
      throw error.within(place);
    }
    one.inputs[column] = std::move(value);
  }
  refuse_missing(form, [&](const std::string& name) { return one.inputs.contains(name); }, place + ": ");
  if (one.name.empty()) one.name = numbered("case", number);
  one.label = one.name;
  return one;
}

std::vector<PredictionCase> cases_of_table(const PredictionForm& form, const fs::path& path) {
  if (!fs::is_regular_file(path))
    fail(Exit::usage, text("there is no table ", path.string()), "check --table");
  const auto table = parse_csv(read_text(path), path.filename().string());
  for (const auto& column : table.columns) {
    if (column == "case" || find_input(form, column) != nullptr) continue;
    const auto near = nearest(column, names_of(form));
    fail(Exit::usage, text(path.string(), ": there is no input ", column),
         near.empty() ? takes(form) : text("did you mean ", near, "?"));
  }
  std::vector<PredictionCase> cases;
  for (const auto& row : table.rows)
    cases.push_back(case_of_row(form, path, table, row, static_cast<int64_t>(cases.size())));
  if (cases.empty()) fail(Exit::data, text(path.string(), " has no rows"), "give one case a row");
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
PredictionCases whole_cases(const PredictionForm& form, const PredictionRequest& request) {
  if (!request.table.empty()) return {.cases = cases_of_table(form, request.table), .of_folder = true};
  const auto given = split_words(form, request.inputs);
  refuse_missing(form, [&](const std::string& name) { return given.contains(name); }, "");
  if (given.empty()) return {.cases = samples(request.count.value_or(1))};
  PredictionCases found;
  found.cases = with_texts(form, given, cases_of_images(form, given, found.of_folder));
  for (auto& one : found.cases) {
    if (one.name.empty() || one.name.starts_with('-')) one.name = "case" + one.name;
    if (one.label.empty()) one.label = one.name;
  }
  return found;
}

}  // namespace

Json to_json(const PredictionCases& found) {
  Json cases = Json::array();
  for (const auto& one : found.cases) {
    cases.push_back({{"name", one.name},
                     {"label", one.label},
                     {"inputs", one.inputs},
                     {"number", one.number},
                     {"sample", one.sample},
                     {"sample_of", one.sample_of}});
  }
  return {{"cases", cases}, {"of_folder", found.of_folder}};
}

PredictionCases prediction_cases_from_json(const Json& json) {
  PredictionCases found{.cases = {}, .of_folder = json.at("of_folder").get<bool>()};
  for (const auto& one : json.at("cases")) {
    found.cases.push_back({.name = one.at("name").get<std::string>(),
                           .label = one.at("label").get<std::string>(),
                           .inputs = one.at("inputs").get<std::map<std::string, std::string>>(),
                           .number = one.at("number").get<int64_t>(),
                           .sample = one.at("sample").get<int64_t>(),
                           .sample_of = one.at("sample_of").get<std::string>()});
  }
  return found;
}

PredictionCases find_prediction_cases(const PredictionForm& form, const PredictionRequest& request) {
  check_kinds(form, request);
  auto found = whole_cases(form, request);
  for (std::size_t i = 0; i < found.cases.size(); ++i) found.cases[i].number = static_cast<int64_t>(i);
  const bool has_inputs = !request.inputs.empty() || !request.table.empty();
  if (has_inputs) found.cases = with_samples(found.cases, request.count.value_or(1));
  return found;
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

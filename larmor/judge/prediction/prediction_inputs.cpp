#include "larmor/judge/prediction/prediction_inputs.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/file_kinds.h"
#include "larmor/formats/mistaken_file.h"

namespace larmor {

namespace fs = std::filesystem;

using Kind = PredictionInput::Kind;

std::vector<std::string> names_of_inputs(const PredictionForm& form) {
  std::vector<std::string> names;
  for (const auto& input : form.inputs) names.push_back(input.name);
  return names;
}

std::vector<std::string> image_inputs(const PredictionForm& form) {
  std::vector<std::string> names;
  for (const auto& input : form.inputs) {
    if (input.kind == Kind::image) names.push_back(input.name);
  }
  return names;
}

const PredictionInput* find_input(const PredictionForm& form, std::string_view name) {
  const auto found = std::ranges::find(form.inputs, name, &PredictionInput::name);
  return found == form.inputs.end() ? nullptr : &*found;
}

std::string takes(const PredictionForm& form) {
  return form.inputs.empty() ? "this stage samples: say --count N in place of inputs"
                             : text("the inputs of this stage are: ", join(names_of_inputs(form), ", "));
}

namespace {

/// Behind --input every word is one.
std::string hint_on_absent(const std::string& value) {
  const auto sign = value.find('=');
  const bool is_key = sign != std::string::npos && value.substr(0, sign).find('.') != std::string::npos &&
                      value.substr(0, sign).find('/') == std::string::npos;
  return is_key ? text("if it is meant as a key of the config, say it before --input: larmor predict RUN '",
                       value, "' --input FILE")
                : "check --input";
}

void check_image(const std::string& name, const std::string& value, const PredictionForm& form) {
  if (!fs::exists(place_of(value))) {
    if (form.inputs.size() > 1)
      fail(Exit::data, text(name, " is an image, and there is no file or folder ", value),
           text(takes(form), "; ", hint_on_absent(value)));
    fail(Exit::data, text("there is no file or folder ", value), hint_on_absent(value));
  }
  if (const auto mistaken = mistaken_file(value); mistaken && known_suffix(value).empty())
    fail(Exit::data, text(value, " ", mistaken->what), mistaken->remedy);
  if (naming(value, [&] { return may_hold_image(value); })) return;
  fail(Exit::data, text(value, " is no image that larmor reads"),
       text("give one of ", known_suffixes(), ", or a folder of them"));
}

}  // namespace

void check_given(const PredictionInput& input, const std::string& value, const PredictionForm& form) {
  if (input.kind == Kind::image) check_image(input.name, value, form);
  if (input.kind == Kind::file && !fs::is_regular_file(value))
    fail(Exit::data, text("there is no file ", value), text("check the input ", input.name));
}

void refuse_missing(const PredictionForm& form, const std::function<bool(const std::string&)>& is_given,
                    const std::string& where) {
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

std::string numbered(const std::string& word, int64_t number) {
  constexpr std::size_t digits = 4;
  auto count = text(number);
  if (count.size() < digits) count.insert(0, digits - count.size(), '0');
  return text(word, "-", count);
}

}  // namespace larmor

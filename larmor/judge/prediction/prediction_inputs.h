// What folders, tables and words of `predict` have in common: inputs by their names, and values that are
// files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/task/prediction.h"

namespace larmor {

std::vector<std::string> names_of_inputs(const PredictionForm& form);
/// The names of the inputs that are images.
std::vector<std::string> image_inputs(const PredictionForm& form);
/// Null where there is none of this name.
const PredictionInput* find_input(const PredictionForm& form, std::string_view name);
/// A sentence on what there is to give.
std::string takes(const PredictionForm& form);
/// Throws Error (data) unless what is given is what the input takes: a file or a folder that may be an image,
/// or a file that is there. Of a text nothing is asked.
void check_given(const PredictionInput& input, const std::string& value, const PredictionForm& form);
/// Throws Error (usage), `where` in front, where an input that has to be given is not.
void refuse_missing(const PredictionForm& form, const std::function<bool(const std::string&)>& is_given,
                    const std::string& where);
/// What the outputs of an image are called: "head" for head.nii.gz.
std::string stem_of(const std::filesystem::path& image);
/// "case-0007"
std::string numbered(const std::string& word, int64_t number);

}  // namespace larmor

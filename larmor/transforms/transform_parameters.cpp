#include "larmor/transforms/transform_parameters.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/mask_name.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

constexpr double largest_parameter = 1e30;

bool is_known_volume(const std::string& name) {
  for (const std::string_view known : {"image", "label", "mask"}) {
    if (name == known || name.starts_with(text(known, "_"))) return true;
  }
  return false;
}

std::vector<Json> listed(const Json& value) {
  return value.is_array() ? std::vector<Json>(value.begin(), value.end()) : std::vector<Json>{value};
}

}  // namespace

std::size_t Targets::place_of(std::string_view volume) const {
  auto key = std::find(keys.begin(), keys.end(), volume);
  if (key == keys.end() && volume == label_as_mask) key = std::find(keys.begin(), keys.end(), "label");
  return static_cast<std::size_t>(key - keys.begin());
}

bool Targets::wants(std::string_view volume) const { return keys.empty() || place_of(volume) < keys.size(); }

// One mode for all volumes is one for images: classes have no values in between.
Interpolation Targets::interpolation(std::string_view volume) const {
  if (interpolations.size() > 1) return interpolations[place_of(volume)];
  if (is_mask(volume)) return Interpolation::nearest;
  return interpolations.empty() ? Interpolation::trilinear : interpolations.front();
}

Parameters::Parameters(std::string transform, const Json& given, int occurrence)
    : transform_(std::move(transform)),
      purpose_(occurrence == 1 ? transform_ : text(transform_, " ", occurrence)),
      given_(given) {
  if (!given_.is_object() && !given_.is_null()) refuse("its parameters must be a mapping");
}

Targets Parameters::targets(bool samples) {
  Targets targets;
  if (const Json* const keys = find("keys"); keys != nullptr) {
    for (const Json& key : listed(*keys)) {
      if (!key.is_string() || !is_known_volume(key.get<std::string>()))
        refuse(text("keys is ", keys->dump(), "; volumes are image, label and mask"));
      targets.keys.push_back(key.get<std::string>());
    }
  }
  if (!samples) return targets;
  if (const Json* const modes = find("mode"); modes != nullptr) {
    for (const Json& mode : listed(*modes)) {
      if (mode != "nearest" && mode != "bilinear" && mode != "trilinear") {
        refuse(text("mode is ", modes->dump(),
                    "; \"bilinear\" (which is trilinear on volumes) and \"nearest\" are known"));
      }
      targets.interpolations.push_back(mode == "nearest" ? Interpolation::nearest : Interpolation::trilinear);
    }
  }
  const auto modes = targets.interpolations.size();
  if (modes > 1 && modes != targets.keys.size())
    refuse(text("mode has ", modes, " entries for ", targets.keys.size(), " keys"));
  return targets;
}

double Parameters::checked(const std::string& name, const Json& value, double low, double high) const {
  if (!value.is_number()) refuse(text(name, " is ", value.dump(), ", not a number"));
  const double number = value.get<double>();
  if (!(number >= low && number <= high))
    refuse(text(name, " is ", number, "; ", low, " to ", high, " are possible"));
  return number;
}

double Parameters::number(const std::string& name, double low, double high) {
  return checked(name, needed(name), low, high);
}

double Parameters::number_or(const std::string& name, double otherwise, double low, double high) {
  const Json* const value = find(name);
  return value == nullptr || value->is_null() ? otherwise : checked(name, *value, low, high);
}

int64_t Parameters::whole_or(const std::string& name, int64_t otherwise, int64_t low, int64_t high) {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_number_integer()) refuse(text(name, " is ", value->dump(), ", not a whole number"));
  return static_cast<int64_t>(checked(name, *value, static_cast<double>(low), static_cast<double>(high)));
}

bool Parameters::flag(const std::string& name, bool otherwise) {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) refuse(text(name, " is ", value->dump(), ", not true or false"));
  return value->get<bool>();
}

std::string Parameters::word(const std::string& name) {
  const Json& value = needed(name);
  if (!value.is_string()) refuse(text(name, " is ", value.dump(), ", not a word"));
  return value.get<std::string>();
}

std::string Parameters::word_or(const std::string& name, const std::string& otherwise,
                                const std::vector<std::string>& choices) {
  const Json* const value = find(name);
  if (value == nullptr) return otherwise;
  const auto same = [&](const std::string& choice) { return *value == choice; };
  if (std::none_of(choices.begin(), choices.end(), same))
    refuse(text(name, " is ", value->dump(), "; known are ", join(choices, ", ")));
  return value->get<std::string>();
}

std::array<double, 3> Parameters::numbers(const std::string& name) {
  const Json& value = needed(name);
  const auto items = listed(value);
  const auto is_number = [](const Json& item) { return item.is_number(); };
  if ((items.size() != 1 && items.size() != 3) || !std::all_of(items.begin(), items.end(), is_number))
    refuse(text(name, " is ", value.dump(), ", not numbers, one or three"));
  std::array<double, 3> result{};
  for (std::size_t axis = 0; axis < 3; ++axis) result[axis] = items[items.size() == 1 ? 0 : axis];
  return result;
}

std::array<int64_t, 3> Parameters::sizes(const std::string& name) {
  const Json& value = needed(name);
  const auto items = listed(value);
  const auto is_whole = [](const Json& item) { return item.is_number_integer(); };
  if (items.empty() || items.size() > 3 || !std::all_of(items.begin(), items.end(), is_whole))
    refuse(text(name, " is ", value.dump(), ", not whole numbers, one or three (two for pictures)"));
  std::array<int64_t, 3> result{0, 0, -1};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (items.size() == 1 || axis < items.size()) result[axis] = items[items.size() == 1 ? 0 : axis];
  }
  return result;
}

DrawRange Parameters::range_of(const std::string& name, const Json& value) const {
  if (value.is_number()) {
    const double most = checked(name, value, -largest_parameter, largest_parameter);
    return {std::min(-most, most), std::max(-most, most)};
  }
  if (!value.is_array() || value.size() != 2)
    refuse(text(name, " is ", value.dump(), ", not one number or two"));
  const double a = checked(name, value[0], -largest_parameter, largest_parameter),
               b = checked(name, value[1], -largest_parameter, largest_parameter);
  return {std::min(a, b), std::max(a, b)};
}

DrawRange Parameters::range(const std::string& name, const DrawRange& otherwise) {
  const Json* const value = find(name);
  return value == nullptr ? otherwise : range_of(name, *value);
}

std::vector<DrawRange> Parameters::ranges(const std::string& name, std::size_t count) {
  std::vector<DrawRange> result(count);
  const Json* const value = find(name);
  if (value == nullptr || value->is_null()) return result;
  const auto items = listed(*value);
  if (items.size() > count) refuse(text(name, " is ", value->dump(), ", which names more than ", count));
  for (std::size_t i = 0; i < items.size(); ++i) result[i] = range_of(name, items[i]);
  return result;
}

Outside Parameters::outside(const std::string& otherwise) {
  const auto mode = word_or("padding_mode", otherwise, {"zeros", "border", "reflection"});
  return mode == "zeros" ? Outside::zeros : mode == "border" ? Outside::border : Outside::reflection;
}

void Parameters::only(const std::string& name, const Json& value) {
  const Json* const given = find(name);
  if (given != nullptr && *given != value)
    refuse(text(name, " is ", given->dump(), "; only ", value.dump(), " is done here"));
}

const Json* Parameters::find(const std::string& name) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) asked_.push_back(name);
  return given_.is_object() && given_.contains(name) ? &given_.at(name) : nullptr;
}

const Json& Parameters::needed(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) refuse(text(name, " is missing"));
  return *value;
}

void Parameters::finish() const {
  if (!given_.is_object()) return;
  for (const auto& [name, value] : given_.items()) {
    if (std::find(asked_.begin(), asked_.end(), name) != asked_.end()) continue;
    const std::string near = nearest(name, asked_);
    fail(Exit::usage, text("data.transforms: ", transform_, " has no parameter ", name),
         near.empty() ? text("it has ", join(asked_, ", ")) : text("did you mean ", near, "?"));
  }
}

void Parameters::refuse(const std::string& reason) const {
  fail(Exit::usage, text("data.transforms: ", transform_, ": ", reason));
}

}  // namespace larmor

// Reading one member of a JSON object whose shape is known, with an error that names the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor {

/// Reads members of `object`; `place` ("hardware.json") opens every message. Borrows both. Throws Error
/// (usage).
class JsonMembers {
 public:
  JsonMembers(const Json& object, std::string_view place) : object_(object), place_(place) {
    if (!object.is_object())
      fail(Exit::usage, text(place, ": expected an object, found ", object.type_name()));
  }

  bool has(const char* key) const { return object_.contains(key); }
  const Json& at(const char* key) const {
    if (!has(key)) fail(Exit::usage, text(place_, ": the key ", key, " is missing"));
    return object_.at(key);
  }

  template <class Value>
  void read(const char* key, Value& value) const {
    convert(at(key), key, value);
  }
  /// Leaves `value` alone when the key is absent.
  template <class Value>
  void read_if_present(const char* key, Value& value) const {
    if (has(key)) read(key, value);
  }
  /// Leaves `value` empty when the key is absent, or null.
  template <class Value>
  void read_if_told(const char* key, std::optional<Value>& value) const {
    if (has(key) && !at(key).is_null()) read(key, value.emplace());
  }
  /// Refuses a key that is not in `known`, naming the nearest one that is.
  void refuse_others(const std::vector<std::string>& known) const {
    for (const auto& item : object_.items()) {
      bool is_known = false;
      for (const std::string& name : known) is_known = is_known || name == item.key();
      if (is_known) continue;
      const std::string near = nearest(item.key(), known);
      fail(Exit::usage, text(place_, ": no such key: ", item.key()),
           near.empty() ? text("keys: ", join(known, " ")) : text("did you mean ", near, "?"));
    }
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* expected, const Json& found) const {
    fail(Exit::usage, text(place_, ": ", key, " must be ", expected, ", found ", found.dump()));
  }
  void convert(const Json& json, const char* key, bool& value) const {
    if (!json.is_boolean()) refuse(key, "true or false", json);
    value = json.get<bool>();
  }
  void convert(const Json& json, const char* key, std::string& value) const {
    if (!json.is_string()) refuse(key, "a text", json);
    value = json.get<std::string>();
  }
  void convert(const Json& json, const char* key, double& value) const {
    if (!json.is_number()) refuse(key, "a number", json);
    value = json.get<double>();
  }
  template <class Integer>
    requires std::is_integral_v<Integer>
  void convert(const Json& json, const char* key, Integer& value) const {
    if (!json.is_number_integer()) refuse(key, "a whole number", json);
    const bool fits = json.is_number_unsigned() ? std::in_range<Integer>(json.get<uint64_t>())
                                                : std::in_range<Integer>(json.get<int64_t>());
    if (!fits) refuse(key, "in range", json);
    value = json.get<Integer>();
  }
  template <class Element>
  void convert(const Json& json, const char* key, std::vector<Element>& value) const {
    if (!json.is_array()) refuse(key, "a list", json);
    value.assign(json.size(), Element{});
    for (size_t i = 0; i < json.size(); ++i) convert(json[i], key, value[i]);
  }

  const Json& object_;
  std::string place_;
};

}  // namespace larmor

// A config section lists its fields once; reading, printing, checking, help and JSON Schema are visitors
// over that listing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/units.h"

namespace larmor {

/// Both ends are allowed values.
struct Range {
  double least = std::numeric_limits<double>::lowest();
  double most = std::numeric_limits<double>::max();
};
inline constexpr Range at_least_zero{0};
inline constexpr Range at_least_one{1};
inline constexpr Range fraction{0, 1};

class Fields {
 public:
  virtual ~Fields() = default;

  /// `help` is the field's only comment: a phrase, with the unit where there is one.
  virtual void field(const char* name, bool& value, const char* help) = 0;
  virtual void field(const char* name, int64_t& value, const char* help, Range range = {}) = 0;
  virtual void field(const char* name, double& value, const char* help, Range range = {}) = 0;
  virtual void field(const char* name, std::string& value, const char* help) = 0;
  virtual void field(const char* name, Length& value, const char* help) = 0;
  virtual void field(const char* name, std::vector<std::string>& value, const char* help) = 0;
  virtual void field(const char* name, std::vector<int64_t>& value, const char* help, Range range = {}) = 0;
  virtual void field(const char* name, std::vector<double>& value, const char* help, Range range = {}) = 0;
  virtual void field(const char* name, std::vector<bool>& value, const char* help) = 0;
  /// Nothing is written `auto`.
  virtual void field(const char* name, std::optional<bool>& value, const char* help) = 0;
  virtual void field(const char* name, std::optional<int64_t>& value, const char* help, Range range = {}) = 0;
  /// Any YAML value, kept as it is: for lists that another part interprets (data.transforms).
  virtual void field(const char* name, Json& value, const char* help) = 0;
  /// Bytes, written with a unit; nothing is `auto`.
  virtual void bytes(const char* name, std::optional<uint64_t>& value, const char* help) = 0;
  /// One word of `words`.
  virtual void word(const char* name, std::string& value, const std::vector<std::string>& words,
                    const char* help) = 0;
  /// A file or folder that the person names, maybe from the folder in which they stand.
  virtual void path(const char* name, std::string& value, const char* help) { field(name, value, help); }
  /// A nested mapping.
  virtual void section(const char* name, const std::function<void(Fields&)>& describe) = 0;

  /// One word that stands for an enumerator.
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<std::pair<const char*, Enum>> names,
              const char* help) {
    std::vector<std::string> words;
    std::string current;
    for (const auto& [word, enumerator] : names) {
      words.emplace_back(word);
      if (enumerator == value) current = word;
    }
    this->word(name, current, words, help);
    for (const auto& [word, enumerator] : names) {
      if (current == word) value = enumerator;
    }
  }
};

}  // namespace larmor

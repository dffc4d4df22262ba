// The parameters of one transform declared in the config, read with checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

/// Which volumes of an example a step is for, and how each is sampled.
class Targets {
 public:
  bool wants(std::string_view volume) const;
  Interpolation interpolation(std::string_view volume) const;

  std::vector<std::string> keys;              // empty: all
  std::vector<Interpolation> interpolations;  // one for all or one a key; empty: by what the volume is

 private:
  /// The place of the key that stands for a volume; the number of keys where none does.
  std::size_t place_of(std::string_view volume) const;
};

struct DrawRange {
  double low = 0, high = 0;
};

/// Every known name is asked for once; what is left is unknown. All throw Error (usage).
class Parameters {
 public:
  /// `occurrence` counts the transforms of this name in the chain, from 1.
  Parameters(std::string transform, const Json& given, int occurrence);

  /// The purpose of the random draws: two steps of one chain draw apart from each other.
  const std::string& purpose() const { return purpose_; }
  /// keys and, where a transform samples, mode.
  Targets targets(bool samples = false);

  double number(const std::string& name, double low, double high);
  double number_or(const std::string& name, double otherwise, double low, double high);
  int64_t whole_or(const std::string& name, int64_t otherwise, int64_t low, int64_t high);
  double probability() { return number_or("prob", 0.1, 0, 1); }
  bool flag(const std::string& name, bool otherwise);
  std::string word(const std::string& name);
  /// One of `choices`.
  std::string word_or(const std::string& name, const std::string& otherwise,
                      const std::vector<std::string>& choices);
  /// Three numbers, or one for all three.
  std::array<double, 3> numbers(const std::string& name);
  /// Whole numbers, likewise; the third is -1 (as it is) where a picture's two are given.
  std::array<int64_t, 3> sizes(const std::string& name);
  /// x is [-x, x] (and never less than `least`); [a, b] is itself.
  DrawRange range(const std::string& name, const DrawRange& otherwise);
  /// A range for each of `count` dimensions, as MONAI's RandAffine reads them: x is for the first alone, and
  /// dimensions that are not named stay 0.
  std::vector<DrawRange> ranges(const std::string& name, std::size_t count);
  Outside outside(const std::string& otherwise);

  /// A choice of MONAI's that has one value here.
  void only(const std::string& name, const Json& value);
  void ignore(const std::string& name) { find(name); }
  const Json* find(const std::string& name);
  /// Refuses what nobody asked for.
  void finish() const;
  [[noreturn]] void refuse(const std::string& reason) const;

 private:
  const Json& needed(const std::string& name);
  double checked(const std::string& name, const Json& value, double low, double high) const;
  DrawRange range_of(const std::string& name, const Json& value) const;

  std::string transform_, purpose_;
  const Json& given_;
  std::vector<std::string> asked_;
};

}  // namespace larmor

// Which DICOM objects a config takes as cases, and what it leaves out by which key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/formats/dicom/dicom_series.h"

namespace larmor {

/// One thread.
class DicomFilters {
 public:
  /// Throws Error (usage) where a class is not known, or a description is no regular expression.
  explicit DicomFilters(const DicomSection& wanted);

  /// What has to be read of headers for it.
  DicomText texts() const;
  /// Why it is no case, with the key that says so; "" where it is one.
  std::string refusal(const DicomSeries& object);
  /// The reason by which an object without pixels stands in an account.
  static std::string word_without_pixels(const DicomSeries& object);
  /// Throws Error (data) where a value has fitted none of the objects that earlier keys left, with what those
  /// have. Nothing where there were none at all.
  void check_values(const std::string& folder) const;

 private:
  struct Filter {
    const char* key;                  // "modality"
    std::vector<std::string> values;  // empty: everything is taken
    /// Whether the object fits the value of this number.
    std::function<bool(const DicomSeries&, std::size_t)> fits;
    std::function<std::string(const DicomSeries&)> name;  // of what the object has, for a message
    std::vector<bool> matched = {};
    std::map<std::string, int64_t> found = {};
  };

  void add(Filter filter);

  const DicomSection wanted_;
  std::vector<Filter> filters_;
};

}  // namespace larmor

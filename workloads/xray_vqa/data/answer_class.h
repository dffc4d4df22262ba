// From an answer of the dataset to the class that a head learns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/xray_vqa/data/question_types.h"

namespace larmor::xray_vqa {

/// What an answer says, as far as its class depends on it. Borrows its words.
struct AnswerFacts {
  std::string_view words = {};         // its text
  std::string_view positiveness = {};  // pos, neg, neutral, or ""
  std::string_view region = {};        // the first one
  std::string_view entity = {};        // the first one
  std::string_view severity = {};      // the modifier of that type
};

/// A list of names whose places are looked up. Letters' case does not count.
class NameList {
 public:
  NameList() = default;
  /// The first place of a name that stands there twice counts.
  explicit NameList(std::vector<std::string> names);

  int64_t size() const { return static_cast<int64_t>(names_.size()); }
  const std::string& name(int64_t place) const { return names_[static_cast<std::size_t>(place)]; }
  /// -1 where it has no such name.
  int64_t find(std::string_view name) const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> places_;  // by small letters
};

/// The dataset's regions and entities. The ids that embeddings take are 1 + the place, and 0 for none.
struct Vocabularies {
  NameList regions, entities;
};

/// The class of an answer, or -1 where nothing tells it. Binary: 1 where it is positive, the reverse where
/// the question asks for what is normal; else the first yes or no of its words. Severity: 0 none, 1 mild, 2
/// moderate, 3 severe, by the modifier or else by its words. Region: the place in the list, 25 for every
/// later one. Category: the label of CheXpert that the entity is or is called by.
int64_t answer_class(const QuestionType& type, const AnswerFacts& answer, const Vocabularies& vocabularies);

/// The words of an answer, for people: "yes", "Pleural Effusion", "moderate"; a region by the list's name.
std::string answer_name(Head head, int64_t answer, const Vocabularies& vocabularies);

}  // namespace larmor::xray_vqa

#include "larmor/data/index/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/seed.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr std::array<Split, 3> all_splits = {Split::train, Split::val, Split::test};

size_t place(Split split) { return static_cast<size_t>(split); }

// What the config says of one split.
struct Portion {
  double fraction = 0;
  bool is_list = false;
  std::vector<std::string> names;
};

Portion parse_portion(Split split, const Json& value) {
  const std::string key = text("data.split.", to_text(split));
  Portion portion;
  if (value.is_number()) {
    portion.fraction = value.get<double>();
    if (portion.fraction >= 0 && portion.fraction <= 1) return portion;
    fail(Exit::usage, text(key, " is ", value.dump(), ", which is no fraction"), "give a number from 0 to 1");
  }
  if (!value.is_array()) {
    fail(Exit::usage, text(key, " is ", value.dump(), ", neither a fraction nor a list of patients"),
         text("for instance ", key, "=0.2 or ", key, "=[sub-01, sub-07]"));
  }
  portion.is_list = true;
  for (const Json& name : value) {
    // Patients are often numbered, and YAML makes numbers of such names.
    if (!name.is_string() && !name.is_number_integer()) {
      fail(Exit::usage, text(key, " holds ", name.dump(), ", which is no name"), "put names in quotes");
    }
    portion.names.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  }
  return portion;
}

using Portions = std::array<Portion, 3>;

void assign_names(const std::vector<std::string>& patients, const Portions& portions,
                  std::map<std::string, Split>& assigned) {
  std::map<std::string, Split> named;
  std::vector<std::string> faults;
  for (const Split split : all_splits) {
    for (const std::string& name : portions[place(split)].names) {
      const auto [known, is_new] = named.emplace(name, split);
      if (!is_new && known->second != split) {
        faults.push_back(text("patient ", name, " is in data.split.", to_text(known->second),
                              " and in data.split.", to_text(split)));
      } else if (!std::binary_search(patients.begin(), patients.end(), name)) {
        const std::string near = nearest(name, patients);
        faults.push_back(text("data.split.", to_text(split), " names ", name, ", whom the data do not know",
                              near.empty() ? "" : text(" (", near, "?)")));
      }
    }
  }
  if (!faults.empty()) {
    std::string known = join(std::span(patients).first(std::min<size_t>(patients.size(), 12)), ", ");
    if (patients.size() > 12) known += ", …";
    fail(Exit::data, join(faults, "; "), text("the patients are ", known));
  }
  for (const auto& [name, split] : named) assigned.emplace(name, split);
}

void shuffle(std::vector<std::string>& patients, uint64_t seed) {
  const auto draw = [seed](const std::string& name) {
    return philox(make_key(seed, 0, fast_hash(name), "split"), 0);
  };
  std::sort(patients.begin(), patients.end(), [&draw](const auto& left, const auto& right) {
    return std::pair(draw(left), left) < std::pair(draw(right), right);
  });
}

// How many of n each of the three gets, by largest remainder; what is missing to 1 gets a share of its own.
std::array<int64_t, 3> count_patients(int64_t n, const std::array<double, 3>& fractions) {
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  std::array<double, 4> quotas{};
  std::array<int64_t, 4> counts{};
  for (size_t i = 0; i < 4; ++i) {
    const double fraction = i < 3 ? fractions[i] : std::max(0.0, 1 - sum);
    // 0.7 * 10 is a little less than 7.
    quotas[i] = fraction * static_cast<double>(n) + 1e-9;
    counts[i] = static_cast<int64_t>(std::floor(quotas[i]));
  }
  std::array<size_t, 4> order = {0, 1, 2, 3};
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return quotas[left] - std::floor(quotas[left]) > quotas[right] - std::floor(quotas[right]);
  });
  int64_t left = n - std::accumulate(counts.begin(), counts.end(), int64_t{0});
  for (size_t i = 0; i < 4 && left > 0; ++i, --left) ++counts[order[i]];
  for (size_t i = 0; i < 3; ++i) {
    if (fractions[i] <= 0 || counts[i] > 0) continue;
    const size_t unused = 3;
    const auto richest =
        static_cast<size_t>(std::max_element(counts.begin(), counts.begin() + 3) - counts.begin());
    const size_t giver = counts[unused] > 0 ? unused : richest;
    // Whoever stands further ahead keeps the last patient that he has.
    if (counts[giver] <= (giver == unused || giver > i ? 0 : 1)) continue;
    --counts[giver];
    ++counts[i];
  }
  return {counts[0], counts[1], counts[2]};
}

std::array<double, 3> fractions_for_rest(const Portions& portions, const std::map<std::string, Split>& given,
                                         std::vector<std::string>& notes) {
  std::array<double, 3> fractions{};
  bool any_names = !given.empty();
  for (const Split split : all_splits) {
    const Portion& portion = portions[place(split)];
    const auto is_this = [split](const auto& entry) { return entry.second == split; };
    any_names = any_names || portion.is_list;
    if (std::none_of(given.begin(), given.end(), is_this)) fractions[place(split)] = portion.fraction;
  }
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  const bool too_much = sum > 1 + 1e-9;
  if (sum > 0 && (any_names || too_much)) {
    for (double& fraction : fractions) fraction /= sum;
  }
  if (too_much && !any_names) {
    notes.push_back(text("the fractions of data.split add up to ", sum, " and are scaled to 1"));
  }
  return fractions;
}

/// Who has a split already may be a test case, and no other.
void refuse_fold_of_given(const std::map<std::string, Split>& assigned, const Fold& fold) {
  const auto found = std::find_if(assigned.begin(), assigned.end(),
                                  [](const auto& one) { return one.second != Split::test; });
  if (found == assigned.end()) return;
  fail(Exit::data,
       text("data.fold=", fold.number, '/', fold.count,
            ", but the data say themselves who is in which split: patient ", found->first, " is in ",
            to_text(found->second)),
       "leave data.fold out; or say of a folder data.layout=none, of a table that it has no column with "
       "splits");
}

/// To the folds one by one, so that none has more than one patient more than another.
void deal_out_folds(const std::vector<std::string>& shuffled, const Fold& fold, PatientSplits& splits) {
  std::vector<std::string> dealt;
  for (const std::string& patient : shuffled)
    if (!splits.of.contains(patient)) dealt.push_back(patient);
  if (static_cast<int64_t>(dealt.size()) < fold.count)
    fail(Exit::data,
         text("data.fold=", fold.number, '/', fold.count, " of ", dealt.size(),
              dealt.size() == 1 ? " patient who is" : " patients who are", " not in test"),
         text("take at most ", dealt.size(), " folds, or say data.split.test=0"));
  for (std::size_t i = 0; i < dealt.size(); ++i) {
    const bool is_val = static_cast<int64_t>(i) % fold.count == fold.number - 1;
    splits.of.emplace(dealt[i], is_val ? Split::val : Split::train);
  }
  splits.notes.push_back(text("val is fold ", fold.number, " of ", fold.count));
}

}  // namespace

std::string to_text(Split split) {
  return split == Split::train ? "train" : split == Split::val ? "val" : "test";
}

Split split_from_text(const std::string& word) {
  const std::string plain = lower(word);
  if (plain == "train" || plain == "training") return Split::train;
  if (plain == "val" || plain == "valid" || plain == "validation") return Split::val;
  if (plain == "test" || plain == "testing") return Split::test;
  fail(Exit::data, text("\"", word, "\" is no split"), "say train, val or test");
}

PatientSplits split_patients(const std::vector<std::string>& patients,
                             const std::map<std::string, Split>& given, const SplitSection& section,
                             uint64_t seed, std::optional<Fold> fold) {
  Portions portions = {parse_portion(Split::train, section.train), parse_portion(Split::val, section.val),
                       parse_portion(Split::test, section.test)};
  PatientSplits splits;
  splits.of = given;
  assign_names(patients, portions, splits.of);
  if (fold) {
    refuse_fold_of_given(splits.of, *fold);
    // Who is in test does not hang on what the fold takes the place of.
    portions[place(Split::train)].fraction = 1 - portions[place(Split::test)].fraction;
    portions[place(Split::val)].fraction = 0;
  }
  const auto fractions = fractions_for_rest(portions, given, splits.notes);

  std::vector<std::string> rest;
  for (const std::string& patient : patients) {
    if (!splits.of.contains(patient)) rest.push_back(patient);
  }
  shuffle(rest, seed);
  const auto counts = count_patients(static_cast<int64_t>(rest.size()), fractions);
  auto next = rest.cbegin();
  for (const Split split : all_splits) {
    for (int64_t i = 0; i < counts[place(split)]; ++i, ++next)
      if (!fold || split == Split::test) splits.of.emplace(*next, split);
  }
  if (fold) {
    deal_out_folds(rest, *fold, splits);
    return splits;
  }
  const auto unused = rest.cend() - next;
  if (unused > 0)
    splits.notes.push_back(text(unused, unused == 1 ? " patient" : " patients", " in no split"));
  return splits;
}

}  // namespace larmor

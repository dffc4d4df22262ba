#include "larmor/run/run_index.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/source_files.h"
#include "larmor/data/index/copies.h"

namespace larmor {

namespace {

/// A case's first file, and how many earlier cases have the same first file.
using CaseKey = std::pair<std::string, int>;

std::vector<CaseKey> keys_of(const std::vector<Case>& cases) {
  std::map<std::string, int> seen;
  std::vector<CaseKey> keys;
  for (const Case& entry : cases) keys.emplace_back(entry.name(), seen[entry.name()]++);
  return keys;
}

std::map<CaseKey, std::size_t> places_of(const std::vector<Case>& cases) {
  std::map<CaseKey, std::size_t> places;
  const auto keys = keys_of(cases);
  for (std::size_t i = 0; i < keys.size(); ++i) places.emplace(keys[i], i);
  return places;
}

std::set<std::string> patients_of(const std::vector<Case>& cases) {
  std::set<std::string> patients;
  for (const Case& entry : cases) patients.insert(entry.patient);
  return patients;
}

/// Of a run that was new: its cases, and those that it has left out.
std::vector<Case> known_cases(const Index& start) {
  std::vector<Case> known = start.cases;
  known.insert(known.end(), start.left_out.begin(), start.left_out.end());
  return known;
}

std::vector<std::string> missing_in(const std::set<std::string>& all, const std::set<std::string>& some) {
  std::vector<std::string> missing;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(missing));
  return missing;
}

using States = std::map<std::string, FileState>;

const FileState* state_of(const States& states, const std::string& file) {
  const auto found = states.find(file);
  return found == states.end() ? nullptr : &found->second;
}

bool has_same_contents(const Case& then, const States& states_then, const Case& now,
                       const States& states_now) {
  if (then.files != now.files || then.bytes != now.bytes) return false;
  return std::all_of(then.files.begin(), then.files.end(), [&](const auto& entry) {
    const auto* const before = state_of(states_then, entry.second);
    const auto* const after = state_of(states_now, entry.second);
    if (before == nullptr || after == nullptr) return before == after || states_then.empty();
    return after->has_contents_of(*before);
  });
}

bool was_touched(const Case& then, const States& states_then, const States& states_now) {
  return std::any_of(then.files.begin(), then.files.end(), [&](const auto& entry) {
    const auto* const before = state_of(states_then, entry.second);
    const auto* const after = state_of(states_now, entry.second);
    return before != nullptr && after != nullptr && before->modified_ns != after->modified_ns;
  });
}

// Lists name files that are not there.
bool is_missing(const Case& then, const Case& now) { return then.bytes > 0 && now.bytes == 0; }

DataChanges compare(const Index& start, const Index& now, const States& states_now) {
  DataChanges changes;
  const auto then_keys = keys_of(start.cases), now_keys = keys_of(now.cases);
  const auto now_places = places_of(now.cases);
  for (std::size_t i = 0; i < then_keys.size(); ++i) {
    const Case& then = start.cases[i];
    const auto found = now_places.find(then_keys[i]);
    if (found == now_places.end() || is_missing(then, now.cases[found->second])) {
      changes.removed.push_back(then.name());
      continue;
    }
    const Case& after = now.cases[found->second];
    const bool is_same = has_same_contents(then, start.states, after, states_now) &&
                         then.patient == after.patient && then.label == after.label &&
                         then.values == after.values;
    if (!is_same) {
      changes.edited.push_back(then.name());
    } else if (was_touched(then, start.states, states_now)) {
      changes.touched.push_back(then.name());
    }
  }
  for (const IndexedTable& then : start.tables) {
    const auto is_it = [&](const IndexedTable& table) { return table.name == then.name; };
    const auto found = std::find_if(now.tables.begin(), now.tables.end(), is_it);
    const auto line = text("table ", then.name);
    if (found == now.tables.end()) {
      changes.removed.push_back(line);
    } else if (found->sha256 != then.sha256) {
      changes.edited.push_back(line);
    }
  }
  const auto known = known_cases(start);
  const auto then_places = places_of(known);
  for (std::size_t i = 0; i < now_keys.size(); ++i) {
    if (!then_places.contains(now_keys[i])) changes.added.push_back(now.cases[i].name());
  }
  const auto before = patients_of(known), after = patients_of(now.cases);
  changes.new_patients = missing_in(after, before);
  changes.gone_patients = missing_in(before, after);
  return changes;
}

States states_now_of(const Index& start, const Index& now) {
  return start.states.empty() ? States{} : states_since(start, now);
}

void add_line(std::vector<std::string>& lines, const std::string& what,
              const std::vector<std::string>& names) {
  if (!names.empty()) lines.push_back(text(names.size(), " ", what, ": ", first_few(names)));
}

/// As take_out(); gives the names.
std::vector<std::string> taken_out(Index& judged, const std::set<std::string>& patients) {
  take_out(judged, patients);
  return {patients.begin(), patients.end()};
}

/// Takes those out of val and test whom the weights have been trained on: by the run, or `before`. Gives
/// their names. `is_as_it_was`: a case that the run had in val or test when it was started.
template <class AsItWas>
std::vector<std::string> take_out_trained(const Index& start, const TrainedOn& before,
                                          const States& states_now, Index& judged,
                                          const AsItWas& is_as_it_was) {
  auto found = patients_among(before, judged, states_now);
  const auto own = trained_on(start);
  for (const Case& entry : judged.cases) {
    if (entry.split == Split::train || is_as_it_was(entry)) continue;
    if (has_trained_on(own, judged, entry, states_now)) found.insert(entry.patient);
  }
  return taken_out(judged, found);
}

/// Takes those of the run's own val and test out who have an image that it has trained on under another name.
/// Gives their names. Files are compared whole: whoever has only the look of a training image stays.
std::vector<std::string> take_out_copies(Index& judged, const States& states) {
  std::set<std::string> found;
  for (const auto& group : copied_images(judged, states)) {
    const auto is_trained_on = [&](const CopiedImage& image) {
      return judged.cases[image.of_case].split == Split::train;
    };
    if (std::none_of(group.begin(), group.end(), is_trained_on)) continue;
    for (const CopiedImage& image : group)
      if (!is_trained_on(image)) found.insert(judged.cases[image.of_case].patient);
  }
  return taken_out(judged, found);
}

/// All of another data set, in the splits that its list says, or where it says none in `asked`.
Index all_in(const Index& now, Split asked) {
  Index all = now;
  const bool has_splits = std::any_of(now.cases.begin(), now.cases.end(),
                                      [](const Case& entry) { return entry.split != Split::train; });
  if (has_splits) return all;
  for (Case& entry : all.cases) entry.split = asked;
  return all;
}

[[noreturn]] void refuse_nobody(const JudgedCases& judged, std::size_t cases) {
  std::string why = text("the split ", to_text(judged.split), " has no cases");
  if (!judged.trained_on.empty())
    why += text(": of the ", cases, " cases that are there, those of ", judged.trained_on.size(),
                judged.trained_on.size() == 1 ? " patient" : " patients",
                " are left out, because the run has trained on them: ", first_few(judged.trained_on));
  if (judged.changes.any())
    why += text("; since the run started its data have changed:", listing(judged.changes));
  fail(Exit::data, why,
       judged.trained_on.empty()
           ? "choose another with --split"
           : "where others have the same names, tell them apart in a list: data.kind=list data.list=FILE, "
             "column patient");
}

}  // namespace

DataChanges changes_since(const Index& start, const Index& now) {
  return compare(start, now, states_now_of(start, now));
}

std::string listing(const DataChanges& changes) {
  std::vector<std::string> lines;
  add_line(lines, "removed", changes.removed);
  add_line(lines, "added, in no split", changes.added);
  add_line(lines, "edited", changes.edited);
  add_line(lines, changes.new_patients.size() == 1 ? "new patient" : "new patients", changes.new_patients);
  add_line(lines, changes.gone_patients.size() == 1 ? "patient gone" : "patients gone",
           changes.gone_patients);
  return items(lines);
}

Json to_json(const DataChanges& changes) {
  return {{"removed", changes.removed},
          {"added", changes.added},
          {"edited", changes.edited},
          {"new_patients", changes.new_patients},
          {"gone_patients", changes.gone_patients}};
}

Index found_of_run(const Index& start, const Index& now) {
  Index found = now;
  found.cases.clear();
  const auto keys = keys_of(start.cases);
  const auto places = places_of(now.cases);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto place = places.find(keys[i]);
    if (place == places.end() || is_missing(start.cases[i], now.cases[place->second])) continue;
    Case& entry = found.cases.emplace_back(now.cases[place->second]);
    entry.patient = start.cases[i].patient;
    entry.split = start.cases[i].split;
  }
  return found;
}

Index seen_of_run(const Index& start, const Index& now) {
  Index seen = start;
  seen.cases.clear();
  seen.tables = now.tables;
  const auto keys = keys_of(start.cases);
  const auto places = places_of(now.cases);
  const std::set<std::string> touched(start.touched.begin(), start.touched.end());
  std::set<std::string> bad;
  for (const BadFile& one : start.bad) bad.insert(one.path);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const Case& then = start.cases[i];
    const bool is_bad = bad.contains(then.name());
    const auto place = places.find(keys[i]);
    if (!is_bad && place == places.end()) continue;
    const bool is_then = is_bad || touched.contains(then.name());
    Case& entry = seen.cases.emplace_back(is_then ? then : now.cases[place->second]);
    entry.patient = then.patient;
    entry.split = then.split;
  }
  return seen;
}

JudgedCases cases_to_judge(const Index& start, const Index& now, std::optional<Split> asked, bool names_data,
                           const TrainedOn& before) {
  JudgedCases judged;
  const auto states = states_now_of(start, now);
  const auto changes = compare(start, now, states);
  const bool none_is_the_same = changes.removed.size() + changes.edited.size() == start.cases.size();
  judged.is_other = names_data && none_is_the_same;
  judged.split = asked.value_or(judged.is_other ? Split::test : Split::val);
  if (judged.is_other) {
    if (judged.split == Split::train)
      fail(Exit::usage, "the run has trained on none of the cases of these data",
           "say --split test, or evaluate without data.… words");
    judged.index = all_in(now, judged.split);
  } else {
    judged.changes = changes;
    judged.index = found_of_run(start, now);
  }
  const std::set<std::string> edited(changes.edited.begin(), changes.edited.end());
  judged.trained_on = take_out_trained(start, before, states, judged.index, [&](const Case& entry) {
    return !judged.is_other && !edited.contains(entry.name());
  });
  if (!judged.is_other) {
    std::set<std::string> all(judged.trained_on.begin(), judged.trained_on.end());
    all.merge(patients_of(start.left_out));
    for (std::string& patient : take_out_copies(judged.index, states)) all.insert(std::move(patient));
    judged.trained_on.assign(all.begin(), all.end());
  }
  if (judged.index.of(judged.split).empty()) refuse_nobody(judged, now.cases.size());
  return judged;
}

void keep_few(Index& index, int64_t cases) {
  constexpr int64_t most_judged = 4;
  std::vector<Case> kept;
  for (const auto& [split, most] :
       {std::pair{Split::train, cases}, {Split::val, std::min(cases, most_judged)}}) {
    const auto all = index.of(split);
    const auto count = std::min(most, std::ssize(all));
    for (int64_t i = 0; i < count; ++i)
      kept.push_back(
          index.cases[static_cast<std::size_t>(all[static_cast<std::size_t>(i * std::ssize(all) / count)])]);
  }
  std::ranges::sort(kept, {}, [](const Case& one) { return one.files; });
  index.cases = std::move(kept);
}

Index index_of_resumed_run(const Index& start, const Index& now, const std::vector<BadFile>& known_bad,
                           std::vector<std::string>& notes) {
  auto changes = changes_since(start, now);
  std::vector<std::string> repaired;
  std::copy_if(changes.edited.begin(), changes.edited.end(), std::back_inserter(repaired),
               [&](const std::string& name) { return holds(known_bad, name); });
  std::erase_if(changes.edited, [&](const std::string& name) { return holds(known_bad, name); });
  if (!changes.edited.empty()) {
    fail(Exit::data, text("files of the run have been edited since it started:", listing(changes)),
         "put them back as they were, or start a new run");
  }
  if (changes.any())
    notes.push_back(
        text("the data have changed since the run started; it goes on with its own cases and "
             "splits:",
             listing(changes)));
  Index index = start;
  index.folder = now.folder;
  if (!now.tables.empty()) index.tables = now.tables;  // the same rows, maybe elsewhere
  std::set<std::string> touched(start.touched.begin(), start.touched.end());
  touched.insert(changes.touched.begin(), changes.touched.end());
  touched.insert(repaired.begin(), repaired.end());
  index.touched.assign(touched.begin(), touched.end());
  if (!repaired.empty())
    notes.push_back(text("repaired since they could not be used: ", first_few(repaired)));
  if (!index.touched.empty())
    notes.push_back(text(index.touched.size(), index.touched.size() == 1 ? " file was" : " files were",
                         " written anew since the run started (", first_few(index.touched),
                         "); the run goes on, and its checkpoints no longer promise the same bits"));
  return index;
}

}  // namespace larmor

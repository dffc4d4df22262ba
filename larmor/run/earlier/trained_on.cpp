#include "larmor/run/earlier/trained_on.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

using FileStates = std::map<std::string, FileState>;

/// Of whom an invented case is: numbers are given anew under every seed.
std::string person_of(const Index& index, const Case& entry) {
  if (!index.is_invented()) return entry.patient;
  const auto seed = entry.name().rfind(", seed ");
  return text(entry.patient, seed == std::string::npos ? "" : entry.name().substr(seed));
}

/// What is known of the images of a case.
template <class Use>
void for_each_image(const Case& entry, const FileStates& states, const Use& use) {
  for (const auto& [name, file] : entry.files) {
    if (!is_image(name)) continue;
    const auto found = states.find(file);
    if (found != states.end() && found->second.bytes > 0) use(found->second);
  }
}

FileStates states_of_judges(const Index& index) {
  if (index.is_invented()) return {};
  Index judges = index;
  std::erase_if(judges.cases, [](const Case& entry) { return entry.split == Split::train; });
  return states_of_files(judges);
}

}  // namespace

void TrainedOn::add(const TrainedOn& more) {
  people.insert(more.people.begin(), more.people.end());
  contents.insert(more.contents.begin(), more.contents.end());
}

TrainedOn trained_on(const Index& start) {
  TrainedOn trained;
  for (const Case& entry : start.cases) {
    if (entry.split != Split::train) continue;
    trained.people.insert(person_of(start, entry));
    for_each_image(entry, start.states,
                   [&](const FileState& state) { trained.contents.emplace(state.bytes, state.sample); });
  }
  return trained;
}

bool has_trained_on(const TrainedOn& trained, const Index& index, const Case& entry,
                    const FileStates& states) {
  if (trained.people.contains(person_of(index, entry))) return true;
  bool found = false;
  for_each_image(entry, states, [&](const FileState& state) {
    found = found || trained.contents.contains({state.bytes, state.sample});
  });
  return found;
}

std::set<std::string> patients_among(const TrainedOn& trained, const Index& index, const FileStates& states) {
  std::set<std::string> found;
  for (const Case& entry : index.cases) {
    if (entry.split != Split::train && has_trained_on(trained, index, entry, states))
      found.insert(entry.patient);
  }
  return found;
}

std::vector<Case> take_out(Index& index, const std::set<std::string>& patients) {
  const auto out = std::stable_partition(index.cases.begin(), index.cases.end(), [&](const Case& entry) {
    return entry.split == Split::train || !patients.contains(entry.patient);
  });
  std::vector<Case> taken(std::make_move_iterator(out), std::make_move_iterator(index.cases.end()));
  index.cases.erase(out, index.cases.end());
  return taken;
}

std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  if (names.size() <= most) return join(names, ", ");
  const std::vector<std::string> shown(names.begin(), names.begin() + most);
  return text(join(shown, ", "), ", and ", names.size() - most, " more");
}

void leave_out_trained(Index& index, const TrainedOn& trained) {
  if (trained.empty()) return;
  const auto found =
      patients_among(trained, index, index.states.empty() ? states_of_judges(index) : index.states);
  if (found.empty()) return;
  const std::vector<std::string> patients(found.begin(), found.end());
  const bool is_judged = !index.of(Split::val).empty();
  index.left_out = take_out(index, found);
  const auto who = text(patients.size(), patients.size() == 1 ? " patient" : " patients",
                        " of val and test trained the weights that this run begins with or builds on");
  if (is_judged && index.of(Split::val).empty()) {
    fail(Exit::data, text(who, ", and nobody else is in val: ", first_few(patients)),
         "take the splits of the earlier run, which are those of its run.seed and data.split, or other data");
  }
  index.patients_by += text(", of which ", patients.size(), " of val and test left out");
  auto account = index.account == nullptr ? FileAccount() : *index.account;
  account.warnings.push_back(
      text(who, ", and ", patients.size() == 1 ? "is" : "are", " left out: ", first_few(patients)));
  for (const Case& entry : index.left_out)
    for (const auto& [name, file] : entry.files)
      account.pass_over("of val and test, and of a patient who trained earlier weights", file);
  index.account = std::make_shared<const FileAccount>(std::move(account));
}

void keep_trained_on(const TrainedOn& trained, const fs::path& place, Storage& storage) {
  const Json json{{"people", trained.people}, {"contents", trained.contents}};
  write_text(storage, place / trained_on_name, to_text(json));
}

TrainedOn kept_trained_on(const fs::path& place) {
  const auto file = place / trained_on_name;
  std::error_code unknown;
  if (!fs::exists(file, unknown)) return {};
  const auto json = read_json(file);
  return {.people = json.at("people").get<std::set<std::string>>(),
          .contents = json.at("contents").get<std::set<std::pair<uint64_t, uint64_t>>>()};
}

TrainedOn trained_before(const RunFolder& folder) {
  TrainedOn all;
  std::error_code absent;
  for (const auto& item : fs::directory_iterator(folder.from(), absent))
    all.add(kept_trained_on(item.path()));
  return all;
}

TrainedOn trained_on_by(const RunFolder& folder) {
  auto all = trained_on(index_from_json(read_json(folder.index())));
  all.add(trained_before(folder));
  return all;
}

}  // namespace larmor

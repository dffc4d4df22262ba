#include "larmor/launch/fault_point.h"

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr const char* fault_variable = "LARMOR_FAULT";
constexpr double pause_seconds = 0.3;

constexpr std::array<std::pair<std::string_view, Fault::Action>, 7> actions{
    {{"kill", Fault::Action::kill},
     {"segfault", Fault::Action::segfault},
     {"stop", Fault::Action::stop},
     {"exit", Fault::Action::exit},
     {"hang", Fault::Action::hang},
     {"full_disk", Fault::Action::full_disk},
     {"slow", Fault::Action::slow}}};
constexpr std::array phases_to_fail_in{Phase::starting,      Phase::waiting_for_data, Phase::computing,
                                       Phase::communicating, Phase::validating,       Phase::saving};

/// "waiting_for_data": a word of LARMOR_FAULT holds no spaces.
std::string phase_word(Phase phase) {
  std::string word(to_text(phase));
  for (char& letter : word) {
    if (letter == ' ') letter = '_';
  }
  return word;
}

[[noreturn]] void refuse_fault(std::string_view setting, std::string_view what) {
  std::string places;
  for (const Phase phase : phases_to_fail_in) places += text(places.empty() ? "" : "|", phase_word(phase));
  std::string doings;
  for (const auto& [word, action] : actions) doings += text(doings.empty() ? "" : "|", word);
  fail(Exit::usage, text("the environment says ", fault_variable, "=\"", setting, "\": ", what),
       text("write rank=N|any phase=", places, " do=", doings, " [step=N] [generation=N]"));
}

int64_t count_in(std::string_view setting, std::string_view word, std::string_view digits, int64_t most) {
  int64_t count = -1;
  const char* end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, count);
  if (problem != std::errc() || stop != end || count < 0 || count > most)
    refuse_fault(setting, text(word, " is not understood"));
  return count;
}

Phase phase_in(std::string_view setting, std::string_view name) {
  for (const Phase phase : phases_to_fail_in) {
    if (phase_word(phase) == name) return phase;
  }
  refuse_fault(setting, text("there is no phase ", name));
}

Fault::Action action_in(std::string_view setting, std::string_view name) {
  for (const auto& [word, action] : actions) {
    if (word == name) return action;
  }
  refuse_fault(setting, text("nothing is called ", name));
}

/// What of a full disk a program notices: new bytes and new names.
bool takes_space(std::string_view operation) {
  return operation == "create_folders" || operation == "create" || operation == "write" ||
         operation == "link";
}

[[noreturn]] void hang_for_ever() {
  SystemClock clock;
  for (;;) clock.sleep(3600);
}

}  // namespace

struct FaultPoint::Disk {
  std::atomic<bool> is_full = false;  // saves run on a thread of their own
};

Fault parse_fault(std::string_view setting) {
  Fault fault;
  std::set<std::string> said;
  for (const std::string& word : split(setting, ' ')) {
    if (word.empty()) continue;
    const size_t sign = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, sign);
    const std::string value = sign < word.size() ? word.substr(sign + 1) : "";
    constexpr int64_t most = std::numeric_limits<int64_t>::max();
    if (name == "rank" && value == "any") {
      fault.rank = Fault::any_rank;
    } else if (name == "rank") {
      fault.rank = static_cast<int>(count_in(setting, word, value, std::numeric_limits<int>::max()));
    } else if (name == "step") {
      fault.step = count_in(setting, word, value, most);
    } else if (name == "generation") {
      fault.generation = count_in(setting, word, value, most);
    } else if (name == "phase") {
      fault.phase = phase_in(setting, value);
    } else if (name == "do") {
      fault.action = action_in(setting, value);
    } else {
      refuse_fault(setting, text(word, " is not understood"));
    }
    if (!said.insert(name).second) refuse_fault(setting, text(name, " is there twice"));
  }
  for (const char* needed : {"rank", "phase", "do"}) {
    if (!said.contains(needed)) refuse_fault(setting, text(needed, "= is missing"));
  }
  return fault;
}

FaultPoint::FaultPoint(const Fault& fault) : fault_(fault) {
  if (fault.action == Fault::Action::full_disk) disk_ = std::make_shared<Disk>();
}

FaultPoint FaultPoint::from_environment(const Rank& rank) {
  const char* setting = std::getenv(fault_variable);
  if (setting == nullptr || *setting == '\0') return {};
  const Fault fault = parse_fault(setting);
  const bool is_meant = fault.rank == Fault::any_rank || fault.rank == rank.index;
  if (!is_meant || fault.generation != rank.generation) return {};
  return FaultPoint(fault);
}

bool FaultPoint::is_due(Phase phase, int64_t step) const {
  return fault_ && phase == fault_->phase && step >= fault_->step;
}

bool FaultPoint::stops_at(Phase phase, int64_t step) const {
  return is_due(phase, step) && fault_->action == Fault::Action::stop;
}

void FaultPoint::reach(Phase phase, int64_t step) {
  if (!is_due(phase, step)) return;
  const Fault::Action action = fault_->action;
  if (action != Fault::Action::slow) fault_.reset();  // one that is continued goes on
  switch (action) {
    case Fault::Action::kill:
      ::raise(SIGKILL);
      return;
    case Fault::Action::segfault:
      ::raise(SIGSEGV);
      return;
    case Fault::Action::stop:
      ::raise(SIGSTOP);
      return;
    case Fault::Action::exit:
      ::_exit(1);
    case Fault::Action::hang:
      hang_for_ever();
    case Fault::Action::full_disk:
      disk_->is_full = true;
      return;
    case Fault::Action::slow:
      SystemClock().sleep(pause_seconds);
      return;
  }
}

std::unique_ptr<Storage> FaultPoint::storage() const {
  if (!disk_) return make_storage();
  return std::make_unique<FaultyStorage>([disk = disk_](const FaultyStorage::Operation& operation) {
    if (!disk->is_full || !takes_space(operation.name)) return;
    fail(Exit::environment,
         text("cannot ", operation.name, " ", operation.path.string(), ": No space left on device (",
              fault_variable, ")"),
         "free space, or leave the variable out");
  });
}

}  // namespace larmor

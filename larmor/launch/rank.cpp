#include "larmor/launch/rank.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

/// The names under which one launcher says the same six things.
struct Source {
  std::string_view launcher;
  std::string_view rank, world_size, local_rank, local_world_size, master_address, master_port;

  std::array<std::string_view, 6> names() const {
    return {rank, world_size, local_rank, local_world_size, master_address, master_port};
  }
};

constexpr Source ours{"larmor",
                      "LARMOR_RANK",
                      "LARMOR_WORLD_SIZE",
                      "LARMOR_LOCAL_RANK",
                      "LARMOR_LOCAL_WORLD_SIZE",
                      "LARMOR_MASTER_ADDR",
                      "LARMOR_MASTER_PORT"};
constexpr Source torchrun{"torchrun",         "RANK",        "WORLD_SIZE", "LOCAL_RANK",
                          "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

const std::string* find(const Environment& environment, std::string_view name) {
  const auto found = environment.find(std::string(name));
  return found == environment.end() ? nullptr : &found->second;
}

/// Whether the source speaks at all. The master's address alone does not count: shells and job files
/// export it for other programs.
bool speaks(const Environment& environment, const Source& source) {
  for (const std::string_view name :
       {source.rank, source.world_size, source.local_rank, source.local_world_size}) {
    if (find(environment, name)) return true;
  }
  return false;
}

int64_t read_number(const Environment& environment, std::string_view name, int64_t least, int64_t most) {
  const std::string& value = *find(environment, name);
  int64_t number = 0;
  const char* end = value.data() + value.size();
  const auto [stop, problem] = std::from_chars(value.data(), end, number);
  if (problem != std::errc() || stop != end || number < least || number > most) {
    fail(Exit::usage,
         text("the environment says ", name, "=\"", value, "\"; it must be a whole number from ", least,
              " to ", most),
         "let the launcher set it, or unset it");
  }
  return number;
}

int64_t read_number_or(const Environment& environment, std::string_view name, int64_t otherwise) {
  if (!find(environment, name)) return otherwise;
  return read_number(environment, name, 0, std::numeric_limits<int>::max());
}

bool read_flag(const Environment& environment, std::string_view name) {
  const std::string* value = find(environment, name);
  if (!value) return false;
  const std::string word = lower(*value);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0" || word.empty()) return false;
  fail(Exit::usage, text("the environment says ", name, "=\"", *value, "\"; it must be True or False"),
       "let the launcher set it, or unset it");
}

void refuse_missing(const Environment& environment, const Source& source) {
  std::vector<std::string> present, missing;
  for (const std::string_view name : source.names()) {
    if (name == torchrun.local_world_size && !find(environment, name)) continue;  // see local_count_of
    (find(environment, name) ? present : missing).emplace_back(name);
  }
  if (missing.empty()) return;
  fail(Exit::usage,
       text("the environment says ", join(present, ", "), " as ", source.launcher, " does, but not ",
            join(missing, ", ")),
       text("start with `larmor train` or torchrun, which set all of them, or unset ", join(present, ", ")));
}

/// Both sources speak: what both say must be the same.
void refuse_disagreement(const Environment& environment) {
  const auto left = ours.names(), right = torchrun.names();
  for (size_t i = 0; i < left.size(); ++i) {
    const std::string *one = find(environment, left[i]), *other = find(environment, right[i]);
    if (one && other && *one != *other) {
      fail(
          Exit::usage,
          text("the environment disagrees with itself: ", left[i], "=", *one, " but ", right[i], "=", *other),
          text("unset the one that does not belong to this start"));
    }
  }
}

/// A start by srun or mpirun looks like one lonely process to each of its tasks.
void refuse_unadopted_group(const Environment& environment) {
  for (const std::string_view name : {"SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const std::string* value = find(environment, name);
    if (!value || *value == "1" || value->empty()) continue;
    fail(Exit::usage,
         text("the environment says ", name, "=", *value,
              ": this program was started that many times, and each would be a run of its own"),
         "start one task a node (srun --ntasks=1) and let parallel.ranks make the ranks; for several nodes "
         "start torchrun on each");
  }
}

/// Job files that play torchrun often leave LOCAL_WORLD_SIZE out. A rank whose two numbers are the same may
/// take the host for the only one; another one knows of those before it.
int local_count_of(const Environment& environment, const Source& source, const Rank& rank) {
  if (find(environment, source.local_world_size)) {
    return static_cast<int>(read_number(environment, source.local_world_size, 1, rank.count));
  }
  return rank.local_index == rank.index ? rank.count : rank.local_index + 1;
}

Rank read_rank(const Environment& environment, const Source& source) {
  refuse_missing(environment, source);
  constexpr int64_t most = 1 << 20;
  Rank rank;
  rank.launcher = source.launcher;
  rank.count = static_cast<int>(read_number(environment, source.world_size, 1, most));
  rank.index = static_cast<int>(read_number(environment, source.rank, 0, rank.count - 1));
  rank.local_index = static_cast<int>(read_number(environment, source.local_rank, 0, rank.count - 1));
  rank.local_count = local_count_of(environment, source, rank);
  read_number(environment, source.local_rank, 0, rank.local_count - 1);
  rank.master_address = *find(environment, source.master_address);
  if (rank.master_address.empty()) {
    fail(Exit::usage, text("the environment says ", source.master_address, " but gives no address"),
         "let the launcher set it, or unset it");
  }
  rank.master_port = static_cast<int>(read_number(environment, source.master_port, 1, 65535));
  return rank;
}

}  // namespace

Environment process_environment() {
  Environment all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view line = *entry;
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos) all.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return all;
}

std::optional<Rank> find_rank(const Environment& environment) {
  if (speaks(environment, ours)) {
    Rank rank = read_rank(environment, ours);
    if (speaks(environment, torchrun)) refuse_disagreement(environment);
    rank.generation = read_number_or(environment, "LARMOR_GENERATION", 0);
    rank.store_descriptor = static_cast<int>(read_number_or(environment, "LARMOR_STORE_FD", -1));
    rank.console_out = static_cast<int>(read_number_or(environment, "LARMOR_CONSOLE_OUT", -1));
    rank.console_error = static_cast<int>(read_number_or(environment, "LARMOR_CONSOLE_ERR", -1));
    return rank;
  }
  if (speaks(environment, torchrun)) {
    Rank rank = read_rank(environment, torchrun);
    rank.generation = read_number_or(environment, "TORCHELASTIC_RESTART_COUNT", 0);
    rank.agent_hosts_store = read_flag(environment, "TORCHELASTIC_USE_AGENT_STORE");
    return rank;
  }
  refuse_unadopted_group(environment);
  return std::nullopt;
}

}  // namespace larmor

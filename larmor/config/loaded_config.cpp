// A resolved config after loading: printed, hashed, compared, frozen.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/config/leaf.h"
#include "larmor/config/load.h"
#include "larmor/config/saved.h"
#include "larmor/config/scalar.h"
#include "larmor/config/yaml_text.h"

namespace larmor {
namespace {

constexpr std::string_view plan_origin = "plan";
const Source plan_source{.name = "the plan", .short_name = "plan"};

// Where a run lies and is shown, and how its work is shared and held in memory, define no other run.
constexpr std::array<std::string_view, 2> whereabouts{"run.folder", "run.name"};
constexpr std::array<std::string_view, 11> ways{"parallel.ranks",    "parallel.device",
                                                "parallel.threads",  "parallel.strategy",
                                                "parallel.offload",  "parallel.hang_limit",
                                                "plan.probe",        "train.layout",
                                                "train.stop_before", "train.activation_checkpointing",
                                                "train.graphs"};

// What leaves as it is what a run has learned.
constexpr std::array<std::string_view, 19> courses{
    "train.length",      "train.validate_every", "train.early_stopping", "train.non_finite_budget",
    "checkpoint.every",  "checkpoint.keep_last", "checkpoint.keep_best", "checkpoint.async",
    "track.tensorboard", "track.pictures_every", "data.folder",          "data.list",
    "data.workers",      "data.prefetch",        "data.cache_folder",    "data.budget",
    "data.layout",       "data.patient_pattern", "data.allow_copies"};

struct LaterKey {
  std::string_view key, value;
};
// A run from before there was such a key did what this value of it says, and keeps its hash.
constexpr std::array<LaterKey, 15> later_keys{{{"data.layout", "auto"},
                                               {"data.fold", "\"\""},
                                               {"data.patient_pattern", "\"\""},
                                               {"data.allow_copies", "false"},
                                               {"data.exclude_list", "\"\""},
                                               {"data.dicom.class", "[image]"},
                                               {"data.dicom.modality", "[]"},
                                               {"data.dicom.series", "[]"},
                                               {"data.dicom.echo", "[]"},
                                               {"data.dicom.description", "[]"},
                                               {"data.dicom.min_slices", "1"},
                                               {"data.covariates.numbers", "[]"},
                                               {"data.covariates.categories", "[]"},
                                               {"model.covariate_rate", "100.0"},
                                               {"train.without_scene", "0.0"}}};

bool is_as_before_it(const Origin& origin) {
  return std::any_of(later_keys.begin(), later_keys.end(), [&](const LaterKey& later) {
    return origin.key == later.key && origin.value == later.value;
  });
}

template <size_t count>
bool is_among(const std::array<std::string_view, count>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Whether all cases are judged by a crop, as in runs from before there was a choice: the section then says
/// nothing of the run.
bool has_validation_off(const std::vector<Origin>& origins) {
  return std::none_of(origins.begin(), origins.end(), [](const Origin& origin) {
    return origin.key == "validation.roi_size" && origin.value != "[]";
  });
}

/// Whether it begins with no other run's weights, as those from before there was a choice.
bool begins_alone(const RunConfig& config) {
  const auto begun = config.from.find("run");
  return begun == config.from.end() || begun->second.empty();
}

bool is_same(const Origin& a, const Origin& b) {
  if (a.value == b.value) return true;
  return (a.origin == plan_origin && b.value == "auto") || (b.origin == plan_origin && a.value == "auto");
}

Json json_of(const std::string& flow) {
  Problems problems;
  const std::optional<Node> node = parse_value(flow, "", plan_source, problems);
  const std::optional<Json> value = node ? as_json(*node) : std::nullopt;
  return value.value_or(Json(flow));
}

struct Line {
  std::string text;
  std::string origin;
};

class YamlWriter {
 public:
  void add(const Origin& origin) {
    std::vector<std::string> words = split(origin.key, '.');
    const std::string name = std::move(words.back());
    words.pop_back();
    open(words);
    const std::string indent(2 * words.size(), ' ');
    constexpr size_t most_letters = 80;
    const bool is_long_list = origin.value.size() > most_letters && origin.value.starts_with('[');
    if (!is_long_list) {
      lines_.push_back({text(indent, name, ": ", origin.value), origin.origin});
      return;
    }
    lines_.push_back({text(indent, name, ":"), origin.origin});
    for (const Json& item : json_of(origin.value))
      lines_.push_back({text(indent, "  - ", block_item(item)), ""});
  }

  std::string take(bool with_origins) const {
    constexpr size_t most_columns = 48;
    size_t width = 0;
    for (const Line& line : lines_) {
      if (!line.origin.empty() && line.text.size() <= most_columns) width = std::max(width, line.text.size());
    }
    std::string out;
    for (const Line& line : lines_) {
      out += line.text;
      if (with_origins && !line.origin.empty()) {
        out.append(width > line.text.size() ? width - line.text.size() : 0, ' ');
        out += text(origin_mark, line.origin);
      }
      out += '\n';
    }
    return out;
  }

 private:
  static std::string block_item(const Json& item) {
    if (!item.is_object() || item.size() != 1) return yaml_flow(item);
    return text(yaml_word(item.begin().key()), ": ", yaml_flow(item.begin().value()));
  }

  void open(const std::vector<std::string>& sections) {
    size_t same = 0;
    while (same < sections.size() && same < open_.size() && sections[same] == open_[same]) ++same;
    for (size_t i = same; i < sections.size(); ++i)
      lines_.push_back({text(std::string(2 * i, ' '), sections[i], ":"), ""});
    open_ = sections;
  }

  std::vector<std::string> open_;
  std::vector<Line> lines_;
};

// Sets one field by its dotted key.
class Setter final : public LeafVisitor {
 public:
  Setter(std::string key, const std::string& value) : key_(std::move(key)) {
    Problems problems;
    value_ = parse_value(value, key_, plan_source, problems);
  }

  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    const std::string around = std::exchange(prefix_, text(prefix_, name, '.'));
    describe(*this);
    prefix_ = around;
  }

 protected:
  void visit(const Leaf& leaf) override {
    if (prefix_ + leaf.name != key_) return;
    const auto complaint = value_ ? assign(leaf, *value_) : "cannot be read";
    if (complaint) fail(Exit::unexpected, text("the plan's ", key_, " ", *complaint));
  }

 private:
  std::string key_, prefix_;
  std::optional<Node> value_;
};

}  // namespace

std::map<int, std::string> saved_origins(std::string_view content) {
  std::map<int, std::string> origins;
  if (!content.starts_with(saved_mark)) return origins;
  int number = 0;
  for (const std::string& line : split(content, '\n')) {
    ++number;
    const size_t mark = line.rfind(origin_mark);
    if (mark != std::string::npos) origins[number] = line.substr(mark + origin_mark.size());
  }
  return origins;
}

std::string LoadedConfig::to_yaml(bool with_origins) const {
  YamlWriter writer;
  for (const Origin& origin : origins) {
    if (!origin.is_inherited()) writer.add(origin);
  }
  const std::string title = with_origins ? text(saved_mark, "\n") : "";
  return title + writer.take(with_origins);
}

std::string LoadedConfig::sha256() const {
  std::string all = text("workload=", config.workload, "\nstage=", config.stage, "\n");
  const bool is_off = has_validation_off(origins), is_alone = begins_alone(config);
  for (const Origin& origin : origins) {
    if (is_off && origin.key.starts_with("validation.")) continue;
    if (is_alone && (origin.key == "from.run" || origin.key == "from.optimizer")) continue;
    if (is_as_before_it(origin)) continue;
    if (defines_the_run(origin.key)) all += text(origin.key, "=", origin.value, "\n");
  }
  return larmor::sha256(all);
}

bool LoadedConfig::defines_the_run(const std::string& key) {
  const bool is_of_service = key.starts_with("track.") && std::ranges::count(key, '.') == 2;
  return !is_among(whereabouts, key) && !is_among(ways, key) && !is_of_service;
}

bool LoadedConfig::may_change(const std::string& key) {
  const bool is_of_optim = key.starts_with("optim.");
  return is_among(courses, key) || (is_of_optim && key.ends_with(".schedule.steps"));
}

std::vector<KeyDifference> LoadedConfig::differences(const LoadedConfig& other) const {
  std::vector<KeyDifference> all;
  if (config.workload != other.config.workload)
    all.push_back({"workload", config.workload, other.config.workload});
  if (config.stage != other.config.stage) all.push_back({"stage", config.stage, other.config.stage});
  const auto find = [](const LoadedConfig& in, const std::string& key) {
    return std::find_if(in.origins.begin(), in.origins.end(),
                        [&](const Origin& one) { return one.key == key; });
  };
  for (const Origin& origin : origins) {
    const auto theirs = find(other, origin.key);
    const bool is_there = theirs != other.origins.end();
    if (!defines_the_run(origin.key) || (is_there && is_same(origin, *theirs))) continue;
    all.push_back({origin.key, origin.value, is_there ? theirs->value : ""});
  }
  for (const Origin& origin : other.origins) {
    if (defines_the_run(origin.key) && find(*this, origin.key) == origins.end())
      all.push_back({origin.key, "", origin.value});
  }
  return all;
}

std::vector<std::string> LoadedConfig::differing_keys(const LoadedConfig& other) const {
  std::vector<std::string> keys;
  for (auto& difference : differences(other)) keys.push_back(std::move(difference.key));
  return keys;
}

void LoadedConfig::work_as(const LoadedConfig& other) {
  for (Origin& origin : origins) {
    if (!is_among(ways, origin.key)) continue;
    const auto theirs = std::find_if(other.origins.begin(), other.origins.end(),
                                     [&](const Origin& one) { return one.key == origin.key; });
    if (theirs == other.origins.end()) continue;
    origin = *theirs;
    Setter setter(origin.key, origin.value);
    describe(config, WorkloadFields{}, setter);
  }
}

void LoadedConfig::freeze_from(const std::string& stage, const std::string& hash) {
  const auto origin = std::find_if(origins.begin(), origins.end(),
                                   [&](const Origin& one) { return one.key == "from." + stage; });
  if (origin == origins.end()) fail(Exit::unexpected, text("there is no key from.", stage, " to freeze"));
  const std::string asked = std::exchange(config.from[stage], hash);
  origin->value = yaml_word(hash);
  if (asked != hash && !asked.empty()) origin->origin = text(printable(asked), ", ", origin->origin);
}

void LoadedConfig::freeze(const std::string& key, const std::string& value) {
  const auto origin =
      std::find_if(origins.begin(), origins.end(), [&](const Origin& one) { return one.key == key; });
  if (origin == origins.end()) fail(Exit::unexpected, text("there is no key ", key, " to freeze"));
  if (origin->value != "auto") return;
  Setter setter(key, value);
  describe(config, WorkloadFields{}, setter);
  origin->value = value;
  origin->overrode = std::exchange(origin->origin, std::string(plan_origin));
}

}  // namespace larmor

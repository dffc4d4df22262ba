#include "larmor/data/loader/load_benchmark.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/reading_steps.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

struct Stage {
  std::string name;
  TransformChain chain;  // of one step
};

/// "Orientation" -> "orientation"; the crops and the percentiles under the names of the Python peer's script.
std::string stage_name(const Json& step) {
  std::string name = step.is_string() ? step.get<std::string>() : step.begin().key();
  if (name.ends_with("SpatialCrop")) return "crop";
  if (name == "ScaleIntensityRangePercentiles") return "percentile";
  if (name == "EnsureChannelFirst") return "channel_first";
  std::string words;
  for (const char letter : name) {
    const bool starts_word = std::isupper(static_cast<unsigned char>(letter)) != 0;
    if (starts_word && !words.empty()) words += '_';
    words += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return words;
}

std::vector<Stage> stages_of(const Json& transforms) {
  std::vector<Stage> stages;
  for (const Json& step : transforms) {
    if (step.is_string() ? step == "LoadImage" : step.begin().key() == "LoadImage") continue;
    stages.push_back({stage_name(step), TransformChain(Json::array({step}))});
  }
  return stages;
}

class Stopwatch {
 public:
  /// Milliseconds since the last call, or since this was made.
  double lap() {
    const double now = clock_.steady_seconds();
    return (now - std::exchange(mark_, now)) * 1e3;
  }

 private:
  SystemClock clock_;
  double mark_ = clock_.steady_seconds();
};

Volumes read_case(const Index& index, const Case& entry, PictureReading reading) {
  if (entry.files.size() > 1) reading = {};
  Volumes volumes;
  for (const auto& [name, file] : entry.files) volumes[name] = read_volume(index.folder / file, reading);
  return volumes;
}

StageTimes time_case(const Index& index, const Case& entry, const std::vector<Stage>& stages,
                     const TransformChain& whole, const PictureReading& reading, const ExampleKey& key) {
  StageTimes times;
  Stopwatch watch;
  Volumes volumes = read_case(index, entry, reading);
  times["load"] = watch.lap();
  for (const Stage& stage : stages) {
    volumes = stage.chain.apply(std::move(volumes), key);
    times[stage.name] += watch.lap();
  }
  volumes.clear();
  watch.lap();
  volumes = whole.apply(read_case(index, entry, reading), key);
  times["chain"] = watch.lap();
  return times;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

LoadTimes time_loading(const Index& index, const Json& transforms, int repeats,
                       const std::function<void(int, int)>& done) {
  if (index.is_invented())
    fail(Exit::usage, "phantoms are made, not loaded",
         "name a folder of images: data.kind=nifti data.folder=…");
  const auto stages = stages_of(transforms);
  const TransformChain whole(transforms);
  const PictureReading reading = picture_reading(transforms);
  std::vector<std::map<std::string, std::vector<double>>> rounds_of(index.cases.size());
  for (int round = 0; round <= repeats; ++round) {
    for (size_t i = 0; i < index.cases.size(); ++i) {
      const auto& entry = index.cases[i];
      const ExampleKey key{.epoch = round, .example = static_cast<int64_t>(i)};
      StageTimes times;
      try {
        times = time_case(index, entry, stages, whole, reading, key);
      } catch (const Error& error) {
        throw error.within(entry.name());
      }
      if (round == 0) continue;  // the first one fetches the files
      for (const auto& [stage, milliseconds] : times) rounds_of[i][stage].push_back(milliseconds);
    }
    done(round, repeats);
  }
  LoadTimes result;
  result.volumes = static_cast<int64_t>(index.cases.size());
  for (const auto& rounds : rounds_of) {
    for (const auto& [stage, values] : rounds)
      result.mean_ms[stage] += median(values) / static_cast<double>(index.cases.size());
  }
  return result;
}

double time_samples(const Dataset& dataset, uint64_t seed, int repeats) {
  std::vector<std::vector<double>> times(static_cast<std::size_t>(dataset.size()));
  for (int64_t epoch = 0; epoch <= repeats; ++epoch) {
    for (int64_t example = 0; example < dataset.size(); ++example) {
      Stopwatch watch;
      dataset.get({.seed = seed, .epoch = epoch, .example = example});
      if (epoch > 0) times[static_cast<std::size_t>(example)].push_back(watch.lap());
    }
  }
  double sum = 0;
  for (const auto& values : times) sum += median(values);
  return sum / static_cast<double>(dataset.size());
}

}  // namespace larmor

#include "app/train/trial_words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <system_error>

#include <ATen/ATen.h>

#include "larmor/base/image.h"
#include "larmor/base/text.h"
#include "larmor/config/units.h"
#include "larmor/formats/volume.h"
#include "larmor/run/data_block.h"
#include "larmor/services/service.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

using Words = std::vector<std::string>;

/// In place of what the words say of this key.
void set(Words& words, const std::string& key, const std::string& value) {
  std::erase_if(words, [&](const auto& word) { return word.starts_with(key + "="); });
  words.push_back(text(key, "=", value));
}

/// Runs that are given by their names lie where the run itself would.
void name_runs(Words& keys, const RunConfig& config) {
  for (const auto& [stage, run] : config.from) {
    const fs::path place = fs::absolute(fs::path(config.run.folder) / run.substr(0, run.find('#')));
    std::error_code absent;
    if (!run.empty() && fs::exists(place, absent))
      set(keys, "from." + stage, place.string() + run.substr(std::min(run.find('#'), run.size())));
  }
}

/// A trial is shown to no service.
void send_nowhere(Words& keys, const RunConfig& config) {
  for (const auto& service : services()) {
    const auto given = config.track.services.find(service.name);
    if (given == config.track.services.end() || !service.is_on(given->second)) continue;
    const bool is_yes_no = given->second.at(service.turned_on_by) == "true";
    set(keys, text("track.", service.name, ".", service.turned_on_by), is_yes_no ? "false" : "\"\"");
  }
}

/// An image of the stage's kind: a radiograph where it prepares images by itself, otherwise a volume.
fs::path made_up_image(const PredictionForm& form, const std::string& name, Storage& storage,
                       const fs::path& folder) {
  constexpr int side = 64, depth = 32;
  const auto value = [](int64_t place) { return static_cast<uint8_t>(place * 37 % 251); };
  if (form.transforms.empty()) {
    Image image{.width = side, .height = side, .channels = 1, .pixels = std::vector<uint8_t>(side * side)};
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = value(static_cast<int64_t>(i / side));
    write_png(storage, folder / (name + ".png"), image);
    return folder / (name + ".png");
  }
  const auto place = at::arange(int64_t{depth} * depth * depth).reshape({1, depth, depth, depth});
  Volume volume;
  volume.voxels = (place * 37).remainder(251).to(at::kFloat);
  write_nifti(storage, folder / (name + ".nii.gz"), volume);
  return folder / (name + ".nii.gz");
}

/// Of the case's files, the one that the input is.
std::string file_of(const Case& one, const std::string& input) {
  for (const auto& name : {name_of_modality(input), input, std::string("image")}) {
    if (const auto file = one.files.find(name); file != one.files.end()) return file->second;
  }
  const auto image = std::ranges::find_if(one.files, [](const auto& file) { return is_image(file.first); });
  return image == one.files.end() ? one.name() : image->second;
}

const Case& case_to_predict(const Index& index) {
  const auto judged = index.of(Split::val);
  return index.cases[judged.empty() ? 0 : static_cast<std::size_t>(judged.front())];
}

}  // namespace

Words arguments_of_first_start(const VerbArguments& asked, const RunConfig& config, const RunDraft& draft,
                               int64_t cases, const fs::path& folder) {
  Words words{"train",   asked.target, "--quiet", "--no-check",
              "--cases", text(cases),  "--steps", text(first_steps)};
  for (const auto& config_name : asked.configs) words.insert(words.end(), {"-c", config_name});
  if (!asked.stage.empty()) words.insert(words.end(), {"--stage", asked.stage});
  auto keys = asked.overrides;
  name_runs(keys, config);
  send_nowhere(keys, config);
  const auto length = text(first_steps, "st");
  set(keys, "train.global_batch", text(draft.plan.global_batch));
  set(keys, "train.micro_batch", text(draft.plan.micro_batch));
  set(keys, "train.accumulation", text(draft.plan.accumulation));
  // A length in epochs, and what is held against it, would be a few steps with so few cases; and the trial is
  // near no end.
  constexpr int64_t more_steps = 10000;
  constexpr double least_seconds = 600;
  if (const auto steps = work_of_run(config, draft.demand, draft.plan).steps)
    set(keys, "train.length", text(*steps + more_steps, "st"));
  else
    set(keys, "train.length", text(std::llround(std::max(config.train.length.amount, least_seconds)), "s"));
  set(keys, "train.validate_every", length);
  set(keys, "checkpoint.every", "0");
  if (config.track.pictures_every.amount > 0) set(keys, "track.pictures_every", length);
  if (config.data.cache != "none")
    set(keys, "data.cache_folder", Json((folder / "prepared").string()).dump());
  set(keys, "run.folder", Json(folder.string()).dump());
  set(keys, "run.name", "try");
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

Words arguments_of_second_start(const fs::path& run, int64_t steps) {
  return {"train",   run.string(), "--quiet",
          "--steps", text(steps),  text("train.validate_every=", steps, "st")};
}

Words arguments_of_prediction(const fs::path& run, const PredictionForm& form, const Index& index,
                              Storage& storage, const fs::path& folder) {
  using Kind = PredictionInput::Kind;
  Words words{"predict", run.string(), "--quiet", "--checkpoint", "last"};
  if (!form.volumes.empty()) words.insert(words.end(), {"--output", (folder / "predicted").string() + "/"});
  if (form.inputs.empty()) words.insert(words.end(), {"--count", "1"});
  std::vector<std::string> images;
  for (const auto& input : form.inputs) {
    if (input.kind == Kind::image) images.push_back(input.name);
    if (input.kind != Kind::text || input.is_optional) continue;
    const auto given =
        input.of_case ? input.of_case(case_to_predict(index)) : std::string("Is there a pleural effusion?");
    words.insert(words.end(), {"--input", text(input.name, '=', given)});
  }
  const bool may_lack = std::ranges::all_of(form.inputs, &PredictionInput::is_optional) && images.size() > 1;
  if (may_lack) {
    // What comes out is the image that is not given.
    const auto& one = case_to_predict(index);
    const auto is_absent = [&](const auto& name) {
      return !index.is_invented() && !one.files.contains(name_of_modality(name));
    };
    std::erase_if(images, is_absent);
    words.insert(words.end(), {"--input", "target=" + images.back()});
    images.pop_back();
  }
  for (const auto& name : images) {
    const auto file = index.is_invented() ? made_up_image(form, name, storage, folder)
                                          : index.folder / file_of(case_to_predict(index), name);
    words.insert(words.end(), {"--input", text(name, "=", file.string())});
  }
  return words;
}

}  // namespace larmor::app

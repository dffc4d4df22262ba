// `predict`: volumes in; out come volumes, each where its input lies, or one table of what the network says
// of them.
#include <algorithm>
#include <array>
#include <map>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/file.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"
#include "larmor/hardware/hardware.h"
#include "larmor/nn/sliding_window.h"
#include "larmor/transforms/reading_steps.h"
#include "larmor/transforms/resample_like.h"
#include "larmor/transforms/transforms.h"

#include "app/program.h"
#include "app/say.h"
#include "app/trained.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

struct PredictArguments {
  std::vector<std::string> inputs;
  std::string output, weights, checkpoint = "best";
  bool average = false;
};

struct FilePair {
  fs::path input, output;
};

bool is_volume(const fs::path& path) {
  const auto name = lower(path.filename().string());
  constexpr std::array suffixes{".nii", ".nii.gz", ".npy", ".npz"};
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const char* suffix) { return name.ends_with(suffix); });
}

// "image=F" is F: this stage has one input.
fs::path input_path(const std::string& word) {
  constexpr std::string_view prefix = "image=";
  const fs::path path = word.starts_with(prefix) ? word.substr(prefix.size()) : word;
  if (!fs::exists(path))
    fail(Exit::data, text("there is no file or folder ", path.string()), "check --input");
  return path;
}

// "head" for head.nii.gz.
std::string stem_of(const fs::path& file) {
  auto stem = file.stem();
  if (lower(stem.extension().string()) == ".nii") stem = stem.stem();
  return stem.string();
}

std::vector<fs::path> volumes_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& item : fs::directory_iterator(folder)) {
    if (item.is_regular_file() && is_volume(item.path())) files.push_back(item.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void refuse_inputs_as_output(const fs::path& output, const std::vector<fs::path>& inputs) {
  for (const auto& input : inputs) {
    std::error_code absent;
    if (!fs::equivalent(output, input, absent)) continue;
    fail(Exit::usage, text("the output ", output.string(), " is an input"), "name another with --output");
  }
}

// An input is never written over, and no two outputs are the same file.
void check_outputs(const std::vector<FilePair>& pairs) {
  std::map<fs::path, fs::path> input_of;
  std::vector<fs::path> inputs;
  for (const auto& pair : pairs) {
    inputs.push_back(pair.input);
    const auto [other, is_new] = input_of.emplace(pair.output, pair.input);
    if (is_new) continue;
    fail(Exit::usage,
         text(other->second.string(), " and ", pair.input.string(), " would both be written to ",
              pair.output.string()),
         "predict them into folders of their own");
  }
  for (const auto& pair : pairs) refuse_inputs_as_output(pair.output, inputs);
}

std::vector<fs::path> input_files(const PredictArguments& arguments) {
  std::vector<fs::path> files;
  for (const auto& word : arguments.inputs) {
    const auto path = input_path(word);
    const auto found = fs::is_directory(path) ? volumes_in(path) : std::vector<fs::path>{path};
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty())
    fail(Exit::data, "no volume was found in the input", "give .nii, .nii.gz, .npy or .npz files");
  return files;
}

std::vector<FilePair> pairs_of(const PredictArguments& arguments) {
  const fs::path output = arguments.output;
  bool into_folder = arguments.inputs.size() > 1 || fs::is_directory(output) || !output.has_filename();
  for (const auto& word : arguments.inputs) into_folder = into_folder || fs::is_directory(input_path(word));
  std::vector<FilePair> pairs;
  for (const auto& file : input_files(arguments))
    pairs.push_back({file, into_folder ? output / (stem_of(file) + ".nii.gz") : output});
  check_outputs(pairs);
  return pairs;
}

// Sizes padded at the high side to what the network divides by, and cut again.
at::Tensor predict_whole(Task& task, const at::Tensor& image) {
  const auto divisor = task.size_divisor();
  const auto missing = [&](int64_t axis) { return (divisor - image.size(axis) % divisor) % divisor; };
  const auto padded = at::pad(image, {0, missing(4), 0, missing(3), 0, missing(2)}, "replicate");
  auto result = task.predict(padded);
  for (int64_t axis = 2; axis < 5; ++axis) result = result.narrow(axis, 0, image.size(axis));
  return result;
}

// How many training examples a volume is as large as. image: [1, C, D, H, W]
double in_examples(const at::Tensor& image, const std::vector<int64_t>& window) {
  double voxels = 1;
  for (const auto size : image.sizes().slice(2)) voxels *= static_cast<double>(size);
  for (const auto size : window) voxels /= static_cast<double>(size);
  return voxels;
}

/// What a network needs around it to look at a file.
struct Predictor {
  Task& task;
  Demand demand;
  std::vector<int64_t> window;
  TransformChain chain;
  bool reads_grey;
  uint64_t memory_bytes;

  Volume prepared(const Volume& input) const {
    return chain.deterministic_part({{"image", input}}).at("image");
  }

  Volume volume_of(const Volume& input) const {
    const auto ready = prepared(input);
    const auto image = ready.voxels.unsqueeze(0);
    constexpr double overlap = 0.25;
    const auto output = fits_in_one_pass(demand, in_examples(image, window), memory_bytes)
                            ? predict_whole(task, image)
                            : nn::sliding_window(image, window, overlap, [this](const at::Tensor& part) {
                                return task.predict(part);
                              });
    const Volume result{.voxels = output[0].to(at::kFloat).contiguous(), .affine = ready.affine};
    const std::array<int64_t, 3> size{input.voxels.size(1), input.voxels.size(2), input.voxels.size(3)};
    const bool same_grid =
        ready.affine == input.affine && result.voxels.sizes().slice(1) == input.voxels.sizes().slice(1);
    return same_grid ? result : resample_like(result, input.affine, size);
  }

  /// One number for each of the task's predicted_values().
  std::vector<double> values_of(const Volume& input) const {
    const auto values = task.predict(prepared(input).voxels.unsqueeze(0)).contiguous();
    return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
  }
};

// A network from a run, or from a weights file and a config.
TrainedTask network_for(Program& program, const PredictArguments& arguments) {
  if (!program.is_workload(program.words().target)) {
    require(arguments.weights.empty(), Exit::usage, "--weights: a run has its own weights",
            "choose among them with --checkpoint, or name a workload");
    return load_trained(program, arguments.checkpoint, arguments.average);
  }
  require(!arguments.weights.empty(), Exit::usage, "a workload without a run needs weights",
          "add --weights FILE, or name a run");
  if (!fs::is_regular_file(arguments.weights))
    fail(Exit::usage, text("there is no file ", arguments.weights), "check --weights");
  TrainedTask trained;
  trained.loaded = program.load(program.workload(program.words().target));
  trained.task = trained.loaded.stage->task(trained.loaded.config.config, Index{});
  auto& network = *trained.task->objectives().front().network;
  load_state_dict(network, read_tensors(arguments.weights));
  network.eval();
  return trained;
}

/// `work` on what is in the file.
template <class Work>
auto with_file(const Predictor& predictor, const fs::path& file, bool quiet, const Work& work) {
  if (!quiet) say(file.string() + " …");
  const auto volume = read_volume(file, {.grey = predictor.reads_grey, .size = {}});
  try {
    return work(volume);
  } catch (const Error& error) {
    throw error.within(file.string());
  }
}

int predict_volumes(Program& program, const Predictor& predictor, const PredictArguments& arguments) {
  DiskStorage storage;
  Json all = Json::array();
  Lines lines;
  for (const auto& pair : pairs_of(arguments)) {
    const auto result = with_file(predictor, pair.input, program.words().quiet,
                                  [&](const Volume& volume) { return predictor.volume_of(volume); });
    if (pair.output.has_parent_path()) storage.create_folders(pair.output.parent_path());
    write_nifti(storage, pair.output, result, pair.input);
    Json row;
    row["input"] = pair.input.string();
    row["output"] = pair.output.string();
    all.push_back(row);
    lines.add(pair.output.string());
  }
  program.show(all, lines);
  return 0;
}

// In quotes where a comma or a quote would part it.
std::string csv_cell(const std::string& word) {
  if (word.find_first_of(",\"\n") == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char letter : word) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + "\"";
}

int predict_table(Program& program, const Predictor& predictor, const PredictArguments& arguments) {
  const auto names = predictor.task.predicted_values();
  if (const auto missing = predictor.task.missing_values(); !missing.empty()) log::warning(missing);
  const auto files = input_files(arguments);
  const fs::path output = arguments.output;
  const bool in_folder = fs::is_directory(output) || !output.has_filename();
  const auto table = in_folder ? output / "predictions.csv" : output;
  refuse_inputs_as_output(table, files);
  Json all = Json::array();
  std::string lines = "case," + join(names, ",") + "\n";
  Lines shown(trim(lines));
  for (const auto& file : files) {
    const auto values = with_file(predictor, file, program.words().quiet,
                                  [&](const Volume& volume) { return predictor.values_of(volume); });
    Json row;
    row["input"] = file.string();
    row["output"] = table.string();
    std::string line = csv_cell(file.string());
    for (size_t i = 0; i < names.size(); ++i) {
      row[names[i]] = number_or_null(values[i]);
      line += text(",", values[i]);
    }
    lines += line + "\n";
    shown.add(line);
    all.push_back(row);
  }
  DiskStorage storage;
  if (table.has_parent_path()) storage.create_folders(table.parent_path());
  write_text(storage, table, lines);
  program.show(all, shown.add("written to " + table.string()));
  return 0;
}

int predict(Program& program, const PredictArguments& arguments) {
  input_files(arguments);  // before anything is loaded
  const auto trained = network_for(program, arguments);
  const Stage& stage = *trained.loaded.stage;
  const auto& config = trained.loaded.config.config;
  const Json transforms = stage.prediction_transforms(config);
  const Predictor predictor{.task = *trained.task,
                            .demand = stage.demand(config, Index{}),
                            .window = stage.prediction_window(config),
                            .chain = TransformChain(transforms),
                            .reads_grey = picture_reading(transforms).grey,
                            .memory_bytes = detect_hardware().memory_available_bytes};
  const torch::NoGradGuard no_grad;
  const bool is_table = !trained.task->predicted_values().empty();
  return is_table ? predict_table(program, predictor, arguments)
                  : predict_volumes(program, predictor, arguments);
}

}  // namespace

void add_predict(Program& program) {
  const auto arguments = std::make_shared<PredictArguments>();
  auto& verb =
      program.add_workload_or_run_verb("predict", "run a trained network over volumes",
                                       [&program, arguments] { return predict(program, *arguments); });
  verb.add_option("--input", arguments->inputs, "a file, a folder, or image=FILE; several may be given")
      ->required();
  verb.add_option("--output", arguments->output, "the file to write, or a folder for several")->required();
  verb.add_option("--weights", arguments->weights, "safetensors weights, for a workload without a run");
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  verb.add_flag("--ema", arguments->average, "the averaged weights");
}

}  // namespace larmor::app

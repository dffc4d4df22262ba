// `predict`: volumes in, volumes out, each where its input lies.
#include <torch/nn/module.h>

#include <algorithm>
#include <array>
#include <iostream>

#include <ATen/ATen.h>

#include "app/program.h"
#include "app/trained.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/resample_like.h"
#include "larmor/data/transforms.h"
#include "larmor/device/module_state.h"
#include "larmor/hardware/hardware.h"
#include "larmor/nn/sliding_window.h"

namespace larmor::app {

namespace fs = std::filesystem;

namespace {

struct PredictArguments {
  std::vector<std::string> inputs;
  std::string output, weights, checkpoint = "best";
  bool average = false;
};

struct Job {
  fs::path input, output;
};

bool is_volume(const fs::path& path) {
  const auto name = lower(path.filename().string());
  constexpr std::array suffixes{".nii", ".nii.gz", ".npy", ".npz"};
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const char* suffix) { return name.ends_with(suffix); });
}

// "image=F" is F: this stage has one input.
fs::path input_path(const std::string& word) {
  constexpr std::string_view prefix = "image=";
  const fs::path path = word.starts_with(prefix) ? word.substr(prefix.size()) : word;
  if (!fs::exists(path)) fail(Exit::data, text("there is no file or folder ", path.string()), "check --input");
  return path;
}

std::vector<Job> jobs_of(const PredictArguments& arguments) {
  std::vector<fs::path> files;
  bool many = arguments.inputs.size() > 1;
  for (const auto& word : arguments.inputs) {
    const auto path = input_path(word);
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    many = true;
    for (const auto& item : fs::directory_iterator(path)) {
      if (item.is_regular_file() && is_volume(item.path())) files.push_back(item.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) fail(Exit::data, "no volume was found in the input", "give .nii, .nii.gz, .npy or .npz files");
  std::vector<Job> jobs;
  for (const auto& file : files) {
    if (!many) {
      jobs.push_back({file, arguments.output});
      continue;
    }
    auto name = file.filename().string();
    name = name.substr(0, name.find(".n")) + ".nii.gz";
    jobs.push_back({file, fs::path(arguments.output) / name});
  }
  return jobs;
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

// Whether one pass over the volume fits: a pass without gradient keeps a few of the maps that training keeps.
bool fits_in_one_pass(const at::Tensor& image, const Demand& demand, const std::vector<int64_t>& window) {
  constexpr double share_kept = 0.25, share_of_memory = 0.5;
  double window_voxels = 1;
  for (const auto size : window) window_voxels *= static_cast<double>(size);
  const double voxels = static_cast<double>(image.numel()) / static_cast<double>(image.size(1));
  const double bytes = static_cast<double>(demand.activation_bytes_per_sample) * share_kept * voxels / window_voxels;
  return bytes < share_of_memory * static_cast<double>(detect_hardware().memory_available_bytes);
}

struct Predictor {
  Task& task;
  Demand demand;
  std::vector<int64_t> window;
  TransformChain chain;

  Volume operator()(const Volume& input) const {
    const auto prepared = chain.deterministic_part(input);
    const auto image = prepared.voxels.unsqueeze(0);
    constexpr double overlap = 0.25;
    const auto output = fits_in_one_pass(image, demand, window)
                            ? predict_whole(task, image)
                            : nn::sliding_window(image, window, overlap, [this](const at::Tensor& part) { return task.predict(part); });
    const Volume result{.voxels = output[0].to(at::kFloat).contiguous(), .affine = prepared.affine};
    const std::array<int64_t, 3> size{input.voxels.size(1), input.voxels.size(2), input.voxels.size(3)};
    const bool same_grid = prepared.affine == input.affine && result.voxels.sizes().slice(1) == input.voxels.sizes().slice(1);
    return same_grid ? result : resample_like(result, input.affine, size);
  }
};

// A network from a run, or from a weights file and a config.
TrainedTask network_for(Program& program, const PredictArguments& arguments) {
  if (!program.is_workload(program.words().target)) return load_trained(program, arguments.checkpoint, arguments.average);
  require(!arguments.weights.empty(), Exit::usage, "a workload without a run needs weights", "add --weights FILE, or name a run");
  TrainedTask trained;
  trained.workload = &program.workload(program.words().target);
  trained.config = program.load(*trained.workload);
  trained.task = trained.workload->task(trained.config.config);
  auto& network = *trained.task->objectives().front().network;
  load_state_dict(network, read_tensors(arguments.weights));
  network.eval();
  return trained;
}

int predict(Program& program, const PredictArguments& arguments) {
  const auto jobs = jobs_of(arguments);
  const auto trained = network_for(program, arguments);
  const auto& config = trained.config.config;
  const Predictor predictor{.task = *trained.task,
                            .demand = trained.workload->demand(config, Index{}),
                            .window = trained.workload->prediction_window(config),
                            .chain = TransformChain(trained.workload->prediction_transforms(config))};
  const torch::NoGradGuard no_grad;
  DiskStorage storage;
  Json all = Json::array();
  std::string lines;
  for (const auto& job : jobs) {
    if (!program.words().quiet) std::cerr << job.input.string() << " …\n";
    if (job.output.has_parent_path()) storage.create_folders(job.output.parent_path());
    write_nifti(storage, job.output, predictor(read_volume(job.input)), job.input);
    Json row;
    row["input"] = job.input.string();
    row["output"] = job.output.string();
    all.push_back(row);
    lines += text(job.output.string(), "\n");
  }
  program.show(all, lines);
  return 0;
}

}  // namespace

void add_predict(Program& program) {
  const auto arguments = std::make_shared<PredictArguments>();
  auto& verb = program.add_configured_verb("predict", "run a trained network over volumes",
                                           [&program, arguments] { return predict(program, *arguments); });
  verb.add_option("--input", arguments->inputs, "a file, a folder, or image=FILE; several may be given")->required();
  verb.add_option("--output", arguments->output, "the file to write, or a folder for several")->required();
  verb.add_option("--weights", arguments->weights, "safetensors weights, for a workload without a run");
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  verb.add_flag("--ema", arguments->average, "the averaged weights");
}

}  // namespace larmor::app

// Prediction as a form: which inputs a trained network takes, what it is told of a case, and what comes out
// of it. Who reads the inputs and writes the results: predictor.h and prediction_output.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "larmor/base/image.h"
#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/index/named_folder.h"
#include "larmor/formats/csv.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

struct Case;

struct PredictionInput {
  enum class Kind { image, text, file };  // of a file the task gets what is in it, as a text

  std::string name;  // by which `predict --input NAME=VALUE` gives it, and the task finds it
  Kind kind = Kind::image;
  bool is_optional = false;
  bool may_be_empty = false;  // an empty text, or cell of a table, says that it is not known
  /// The text that a case of training has in its place; empty: any text will do.
  std::function<std::string(const Case&)> of_case = {};
};

/// What `predict` asks of a person, and what it gives; the same for every case of a call.
struct PredictionForm {
  std::vector<PredictionInput> inputs;  // the first is meant where none is named; empty: the stage samples
  Json transforms = Json::array();      // of all image inputs together: nothing random, no crop
  /// The inputs that are channels of what training calls image, in its order: they are prepared as that one
  /// volume. Others are volumes of their own, under their own names.
  std::vector<std::string> channels = {};
  std::vector<std::string> volumes = {};  // names of those that come out; empty: numbers and words alone
  bool draws = false;  // what comes out depends on the draws: a case may be sampled several times
  /// Names of the pictures that may be had beside; who predicts leaves those that a person has asked for.
  std::vector<std::string> pictures = {};
  /// The cases of a folder whose files belong together, where training tells them apart by rules of its own;
  /// nothing where each image is a case. Empty: as cases_of_named_folder().
  std::function<std::optional<NamedFolder>(const DataConfig& trained, const std::filesystem::path&)>
      cases_of_folder = {};
  /// Columns of training's tables by the inputs that they are, "" for one that training alone reads; beside
  /// those of every list of cases. Throws Error (data).
  std::function<std::map<std::string, std::string>(const CsvTable&, const std::string& place)> columns = {};
  /// Throws Error (usage) where these inputs of a case, by their names, ask for what the task cannot give.
  std::function<void(const std::map<std::string, std::string>&)> check = {};
  /// A .npz file of two channels is one image here, as the network takes both; elsewhere, as in training, the
  /// second of them is the label.
  bool pairs_are_images = false;
  /// Why its images may not be seen with left and right exchanged; empty where they may.
  std::string why_not_mirrored = {};
  /// What a voxel of its volumes stands for, for people and programs: "HU". Empty where nobody says.
  std::string units = {};
  /// Whether its volumes keep the free text of the header of the case's first image: as a person asks.
  HeaderText header_text = HeaderText::left_out;
};

/// Words for a person about steps whose `keys` name nothing that is among the inputs, and that are left out
/// therefore; empty where there are none. Labels and masks, which a prediction never has, are no news.
std::string steps_without_input(const PredictionForm& form);

/// The prediction of one case. Volumes may be of any floating type, and are written in float32; those of a
/// whole type are label maps, and are written as uint8, or as uint16 where a class needs it.
struct Prediction {
  std::map<std::string, Volume> volumes = {};                   // each on the grid that its affine says
  std::vector<std::pair<std::string, double>> numbers = {};     // columns of a table; NaN: not known
  std::vector<std::pair<std::string, std::string>> words = {};  // further columns
  std::map<std::string, Image> pictures = {};                   // all that the form names
  /// Where the word "answer" is one of several: the probability of each of them, that of the likeliest being
  /// the number "probability". Not shown: for who averages several predictions.
  std::vector<std::pair<std::string, double>> chances = {};
  /// Numbers and words that these weights cannot give, each with the reason.
  std::vector<std::pair<std::string, std::string>> missing = {};
};

/// Where the voxels of an image input lie: in its file, and as the transforms have left them.
struct InputGrids {
  Affine of_file = identity_affine(), prepared = identity_affine();
  GridSize size_of_file = {};
};

/// What Task::predict() may know of its case.
struct PredictionContext {
  uint64_t seed = 0;
  int64_t number = 0;  // of the case in its call; draws are keyed by both, and by the number of the sample
  c10::Device device{c10::kCPU};
  c10::ScalarType type = c10::kFloat;                          // of the networks and of the inputs' images
  std::map<std::string, std::string, std::less<>> texts = {};  // by input, those of files, too
  std::vector<std::string> pictures = {};                      // that are wanted
  std::map<std::string, InputGrids, std::less<>> grids = {};   // by input, of the images that were given
  /// Whether a pass without gradient over `examples` times the voxels of a training example fits into the
  /// device's memory.
  std::function<bool(double examples)> fits_in_one_pass = [](double) { return true; };
  /// The share of the case that is done, for a person who waits; also a heartbeat.
  std::function<void(double share)> progress = [](double) {};

  /// What the network made of a prepared input, [C, D, H, W] on its grid, brought onto that of its file: by
  /// interpolation, or where its type is a whole one (a label map) by the nearest voxel, and keeps the type.
  Volume on_grid_of(std::string_view input, const at::Tensor& voxels) const;
};

}  // namespace larmor

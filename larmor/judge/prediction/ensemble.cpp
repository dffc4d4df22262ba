#include "larmor/judge/prediction/ensemble.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <ATen/core/TensorBody.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/module.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/task/batch_device.h"

namespace larmor {

namespace {

using Numbers = std::vector<std::pair<std::string, double>>;

const double* find_number(const Numbers& numbers, const std::string& name) {
  const auto found = std::ranges::find(numbers, name, &std::pair<std::string, double>::first);
  return found == numbers.end() ? nullptr : &found->second;
}

/// Of the numbers of the first that all have.
Numbers mean_of_numbers(const std::vector<Prediction>& all, Numbers Prediction::* numbers) {
  Numbers means;
  for (const auto& [name, first] : all.front().*numbers) {
    double sum = 0;
    const bool have_all = std::ranges::all_of(all, [&, name = name](const Prediction& one) {
      const double* const number = find_number(one.*numbers, name);
      if (number != nullptr) sum += *number;
      return number != nullptr;
    });
    if (have_all) means.emplace_back(name, sum / static_cast<double>(all.size()));
  }
  return means;
}

void set_number(Numbers& numbers, const std::string& name, double value) {
  for (auto& [known, number] : numbers) {
    if (known == name) number = value;
  }
}

/// What some of them give, or none of them can.
void note_missing(const std::vector<Prediction>& all, Prediction& mean) {
  std::set<std::string> told;
  for (const Prediction& one : all) {
    for (const auto& [name, reason] : one.missing) {
      if (told.insert(name).second) mean.missing.emplace_back(name, reason);
      std::erase_if(mean.words, [&, name = name](const auto& word) { return word.first == name; });
    }
  }
  for (const Prediction& one : all) {
    for (const auto& [name, value] : one.numbers) {
      if (find_number(mean.numbers, name) == nullptr && told.insert(name).second)
        mean.missing.emplace_back(name, "not all members give it");
    }
  }
}

/// Of label maps the class that most of them give a voxel, and of several with as many votes the lowest.
/// Source: monai.transforms.VoteEnsemble.
Volume vote_of_label_maps(const std::vector<Prediction>& all, const std::string& name) {
  Volume winner = all.front().volumes.at(name);
  int64_t last = 0;
  for (const Prediction& one : all)
    last = std::max(last, one.volumes.at(name).voxels.to(at::kLong).max().item<int64_t>());
  at::Tensor most = at::zeros(winner.voxels.sizes(), at::kLong), first = at::zeros_like(most);
  for (int64_t one_class = 0; one_class <= last; ++one_class) {
    at::Tensor votes = at::zeros_like(most);
    for (const Prediction& one : all) votes += one.volumes.at(name).voxels.to(at::kLong).eq(one_class);
    first.masked_fill_(votes.gt(most), one_class);
    most = at::maximum(most, votes);
  }
  winner.voxels = first.to(winner.voxels.scalar_type());
  return winner;
}

Volume mean_of_volumes(const std::vector<Prediction>& all, const std::string& name) {
  Volume mean = all.front().volumes.at(name);
  if (at::isIntegralType(mean.voxels.scalar_type(), /*includeBool=*/true))
    return vote_of_label_maps(all, name);
  at::Tensor sum = mean.voxels.to(at::kDouble, /*non_blocking=*/false, /*copy=*/true);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Volume& other = all[i].volumes.at(name);
    ensure(other.affine == mean.affine && other.voxels.sizes() == mean.voxels.sizes());
    sum += other.voxels.to(at::kDouble);
  }
  mean.voxels = (sum / static_cast<double>(all.size())).to(mean.voxels.scalar_type());
  return mean;
}

}  // namespace

Prediction mean_of(std::vector<Prediction> all) {
  ensure(!all.empty());
  Prediction mean{.words = all.front().words, .pictures = all.front().pictures};
  for (const auto& [name, volume] : all.front().volumes) mean.volumes[name] = mean_of_volumes(all, name);
  mean.numbers = mean_of_numbers(all, &Prediction::numbers);
  mean.chances = mean_of_numbers(all, &Prediction::chances);
  note_missing(all, mean);
  if (mean.chances.empty()) return mean;
  const auto likeliest = std::ranges::max_element(mean.chances, {}, &std::pair<std::string, double>::second);
  for (auto& [name, word] : mean.words) {
    if (name == "answer") word = likeliest->first;
  }
  set_number(mean.numbers, "probability", likeliest->second);
  return mean;
}

int64_t axis_of_sides(const Affine& affine) {
  const auto spacing = spacing_of(affine);
  int64_t axis = 0;
  double most = -1;
  for (std::size_t i = 0; i < spacing.size(); ++i) {
    const double share = spacing[i] > 0 ? std::abs(affine[0][i]) / spacing[i] : 0;
    if (share <= most) continue;
    most = share;
    axis = static_cast<int64_t>(i);
  }
  return axis;
}

void exchange_sides(Batch& inputs, PredictionContext& context) {
  constexpr int64_t first_axis = 2;  // behind rows and channels
  for (auto& [name, image] : inputs.tensors) {
    const auto grid = context.grids.find(name);
    if (grid == context.grids.end()) continue;
    Affine& affine = grid->second.prepared;
    const int64_t axis = axis_of_sides(affine);
    image = image.flip(first_axis + axis);
    Affine reversed = identity_affine();
    const auto place = static_cast<std::size_t>(axis);
    reversed[place][place] = -1;
    reversed[place][3] = static_cast<double>(image.size(first_axis + axis) - 1);
    affine = compose(affine, reversed);
  }
}

std::string why_apart(const PredictionForm& one, const PredictionForm& other) {
  const auto names = [](const PredictionForm& form) {
    std::vector<std::string> all;
    for (const auto& input : form.inputs) all.push_back(input.name);
    return join(all, ", ");
  };
  if (names(one) != names(other))
    return text("it takes ", names(other), ", and the first one takes ", names(one));
  if (one.channels != other.channels) return "its channels are others, or in another order";
  if (one.volumes != other.volumes) return "other volumes come out of it";
  if (one.transforms != other.transforms) return "its images are prepared otherwise (data.transforms)";
  return {};
}

uint64_t bytes_of_weights(Task& task) {
  uint64_t bytes = 0;
  const auto count = [&bytes](const torch::nn::Module& network) {
    for (const at::Tensor& tensor : network.parameters()) bytes += tensor.nbytes();
    for (const at::Tensor& tensor : network.buffers()) bytes += tensor.nbytes();
  };
  for (const Objective& objective : task.objectives()) count(*objective.network);
  for (const torch::nn::Module* const companion : task.companions()) count(*companion);
  return bytes;
}

Ensemble::Ensemble(std::vector<std::unique_ptr<Task>> members, const TakenTogether& how)
    : members_(std::move(members)), how_(how) {
  ensure(!members_.empty());
}

std::vector<Objective> Ensemble::objectives() {
  std::vector<Objective> all;
  for (const auto& member : members_) {
    for (Objective& objective : member->objectives()) all.push_back(std::move(objective));
  }
  return all;
}

std::vector<torch::nn::Module*> Ensemble::companions() {
  std::vector<torch::nn::Module*> all;
  for (const auto& member : members_) {
    for (torch::nn::Module* const companion : member->companions()) all.push_back(companion);
  }
  return all;
}

std::vector<at::Tensor> Ensemble::losses(const Batch&, const StepContext&) {
  fail(Exit::unexpected, "an ensemble does not learn");
}

void Ensemble::validate(const Batch&, Metrics&) { fail(Exit::unexpected, "an ensemble is not validated"); }

Prediction Ensemble::predict(const Batch& inputs, const PredictionContext& context) {
  const auto passes = members_.size() * (how_.mirrored ? 2 : 1);
  std::vector<Prediction> all;
  const auto predict_by = [&](Task& member, const Batch& seen, PredictionContext of_pass) {
    const auto done = static_cast<double>(all.size());
    of_pass.progress = [&, done](double share) {
      context.progress((done + share) / static_cast<double>(passes));
    };
    const DrawScope draws(draw_position_of(inputs));
    all.push_back(member.predict(seen, of_pass));
  };
  for (const auto& member : members_) {
    predict_by(*member, inputs, context);
    if (!how_.mirrored) continue;
    Batch mirrored = inputs;
    PredictionContext of_mirrored = context;
    exchange_sides(mirrored, of_mirrored);
    predict_by(*member, mirrored, of_mirrored);
  }
  return mean_of(std::move(all));
}

std::string Ensemble::missing_values() const {
  for (const auto& member : members_) {
    if (auto words = member->missing_values(); !words.empty()) return words;
  }
  return {};
}

}  // namespace larmor

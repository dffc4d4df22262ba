#include "larmor/data/dataset.h"

#include <cstddef>
#include <utility>

#include <ATen/ops/stack.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

template <class Tensors>
std::string names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names.empty() ? "nothing" : join(names, ", ");
}

std::string shape_text(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.sizes()) sizes.push_back(text(size));
  return text('[', join(sizes, ", "), ']');
}

void check_alike(const Sample& first, const Sample& other) {
  const std::string names = names_of(first);
  const std::string other_names = names_of(other);
  if (names != other_names) {
    fail(Exit::data, text("examples of one batch hold different tensors: ", names, " and ", other_names),
         "every case needs the same files: see the list file or the folder");
  }
  for (const auto& [name, tensor] : first) {
    const at::Tensor& same = other.find(name)->second;
    if (!tensor.sizes().equals(same.sizes())) {
      fail(Exit::data,
           text("examples of one batch differ in shape: ", name, ' ', shape_text(tensor), " and ",
                shape_text(same)),
           "bring them to one size with a crop in data.transforms, or set train.micro_batch=1");
    }
    if (tensor.scalar_type() != same.scalar_type()) {
      fail(Exit::data, text("examples of one batch differ in type: ", name, ' ',
                            c10::toString(tensor.scalar_type()), " and ", c10::toString(same.scalar_type())));
    }
  }
}

}  // namespace

std::vector<int64_t> Dataset::shown(int64_t stride) const {
  constexpr int64_t most = 4;
  std::vector<int64_t> examples;
  for (int64_t example = 0; example < size() && std::ssize(examples) < most; example += stride)
    examples.push_back(example);
  return examples;
}

BadFile bad_file_of(const Dataset& dataset, int64_t example, const Error& error) {
  const std::string name = dataset.name(example);
  return {name, reason_behind(name, error.message()), dataset.content_hash(example)};
}

const at::Tensor& Batch::at(std::string_view name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) {
    fail(Exit::data, text("the data give no \"", name, "\", only ", names_of(tensors)),
         "check data.kind and the columns of data.list against what the workload needs");
  }
  return found->second;
}

Batch collate(const std::vector<Sample>& samples, const std::vector<ExampleKey>& keys) {
  ensure(!samples.empty() && samples.size() == keys.size());
  const LoadScope stage(LoadStage::copy);
  for (const Sample& sample : samples) check_alike(samples.front(), sample);
  Batch batch;
  batch.keys = keys;
  for (const auto& [name, tensor] : samples.front()) {
    std::vector<at::Tensor> parts;
    parts.reserve(samples.size());
    for (const Sample& sample : samples) parts.push_back(sample.find(name)->second);
    // Files keep their own axis order in memory; from here on the last axis is the contiguous one.
    batch.tensors.emplace(name, at::stack(parts).contiguous());
  }
  return batch;
}

}  // namespace larmor

#include "larmor/device/tensors/pretrained.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"
#include "larmor/device/module_state.h"

namespace larmor {
namespace {

using std::string_view;

std::string renamed(std::string name, const std::vector<NameChange>& renames) {
  for (const NameChange& change : renames) {
    for (size_t at = name.find(change.from); at != std::string::npos;
         at = name.find(change.from, at + change.to.size()))
      name.replace(at, change.from.size(), change.to);
  }
  return name;
}

bool begins_with_one_of(string_view name, const std::vector<std::string>& beginnings) {
  return std::ranges::any_of(beginnings, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

NamedTensors under_our_names(const NamedTensors& tensors, const std::string& source,
                             const std::vector<NameChange>& renames) {
  NamedTensors plain;
  for (const auto& [name, tensor] : tensors) {
    const std::string ours = renamed(name, renames);
    if (!plain.emplace(ours, tensor).second)
      fail(Exit::usage, text(source, " holds ", ours, " twice, once as ", name),
           "keep one of the two tensors in it");
  }
  return plain;
}

constexpr std::size_t most_shown = 8;

std::string shape_of(const at::Tensor& tensor) {
  std::vector<std::string> sizes;
  for (const int64_t size : tensor.sizes()) sizes.push_back(text(size));
  return text("[", join(sizes, ", "), "]");
}

std::string beginning_of(const std::vector<std::string>& words) {
  std::string line = join(std::span(words).first(std::min(most_shown, words.size())), ", ");
  if (words.size() > most_shown) line += text(", and ", words.size() - most_shown, " more");
  return line;
}

void refuse_other_shapes(const NamedTensors& own, const NamedTensors& file, const std::string& source,
                         const PretrainedOptions& options) {
  std::vector<std::string> faults;
  for (const auto& [name, tensor] : file) {
    const auto found = own.find(name);
    if (found == own.end() || begins_with_one_of(name, options.left_behind) ||
        found->second.sizes() == tensor.sizes())
      continue;
    faults.push_back(text(name, " is ", shape_of(tensor), " there and ", shape_of(found->second), " here"));
  }
  if (faults.empty()) return;
  fail(Exit::usage, text("the weights in ", source, " have other shapes:", items(faults, most_shown)),
       options.shape_hint ? options.shape_hint(own, file)
                          : "start from the weights of a network of the same widths");
}

void refuse_gaps(const StartReport& report, const PretrainedOptions& options) {
  std::vector<std::string> gaps;
  for (const std::string& name : report.not_in_file) {
    if (!begins_with_one_of(name, options.may_lack)) gaps.push_back(name);
  }
  if (!gaps.empty())
    fail(Exit::usage,
         text("the weights in ", report.source, " lack ", gaps.size(), " of the network's ",
              report.in_network, " tensors: ", beginning_of(gaps)),
         options.what_fits);
}

std::vector<std::string> names_of(const NamedTensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

}  // namespace

StartReport start_from(torch::nn::Module& network, const NamedTensors& tensors, const std::string& source,
                       const PretrainedOptions& options) {
  const NamedTensors own = state_dict(network), file = under_our_names(tensors, source, options.renames);
  refuse_other_shapes(own, file, source, options);

  StartReport report;
  report.source = source;
  report.in_network = static_cast<int64_t>(own.size());
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [name, tensor] : file) {
    const auto found = own.find(name);
    if (begins_with_one_of(name, options.left_behind)) {
      report.left.push_back(name);
    } else if (found == own.end()) {
      report.not_in_network.push_back(name);
    } else {
      copies.emplace_back(found->second, tensor);
    }
  }
  if (copies.empty())
    fail(Exit::usage,
         text("nothing in ", source, " fits the network: there are ", beginning_of(names_of(file)),
              " there, and ", beginning_of(names_of(own)), " here"),
         options.what_fits);
  for (const auto& [name, tensor] : own) {
    if (!file.contains(name)) report.not_in_file.push_back(name);
  }
  if (options.needs_all) refuse_gaps(report, options);
  report.copied = static_cast<int64_t>(copies.size());
  if (options.advise) report.advice = options.advise(report, own, file);

  const c10::NoGradGuard no_grad;
  for (const auto& [target, tensor] : copies) target.copy_(tensor);
  return report;
}

std::vector<std::string> lines_of(const StartReport& report) {
  std::vector<std::string> lines = {
      text("started from ", report.source, ": ", report.copied, " of ", report.in_network, " tensors")};
  const auto add = [&](string_view what, const std::vector<std::string>& names) {
    if (!names.empty()) lines.push_back(text(what, ": ", beginning_of(names)));
  };
  add("left in the file", report.left);
  add("not in the network", report.not_in_network);
  add("not in the file", report.not_in_file);
  lines.insert(lines.end(), report.advice.begin(), report.advice.end());
  return lines;
}

}  // namespace larmor

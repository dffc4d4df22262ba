#include "larmor/train/step/records.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/json.h"
#include "larmor/device/send.h"

namespace larmor {

namespace {

at::Tensor as_number(const at::Tensor& value) { return value.detach().to(at::kDouble).reshape({}); }

void add_to(at::Tensor& sum, const at::Tensor& number) {
  sum = sum.defined() ? sum + number.to(sum.device()) : number;
}

template <class Recorded>
bool are_known(const std::map<std::string, Recorded>& recorded, const std::set<std::string>& known) {
  return std::ranges::all_of(recorded, [&](const auto& entry) { return known.contains(entry.first); });
}

}  // namespace

void Records::add(const std::string& name, const at::Tensor& value) { add_to(sums_[name], as_number(value)); }

void Records::add_ratio(const std::string& name, const at::Tensor& sum, const at::Tensor& count) {
  auto& [sums, counts] = ratios_[name];
  add_to(sums, as_number(sum));
  add_to(counts, as_number(count));
}

bool Records::has_new(const RecordNames& known) const {
  return !are_known(sums_, known.means) || !are_known(ratios_, known.ratios);
}

void Records::share_names(RecordNames& known, Communicator& communicator) const {
  Json own{{"means", Json::array()}, {"ratios", Json::array()}};
  for (const auto& entry : sums_) own["means"].push_back(entry.first);
  for (const auto& entry : ratios_) own["ratios"].push_back(entry.first);
  for (const auto& of_rank : all_gather_bytes(communicator, own.dump())) {
    const auto names = parse_json(of_rank, "a rank's recorded names");
    for (const auto& name : names.at("means")) known.means.insert(name.get<std::string>());
    for (const auto& name : names.at("ratios")) known.ratios.insert(name.get<std::string>());
  }
}

at::Tensor Records::reduce(int64_t micro_batches, const RecordNames& known,
                           Communicator& communicator) const {
  const auto options = at::TensorOptions(communicator.device()).dtype(at::kDouble);
  if (known.means.empty() && known.ratios.empty()) return at::empty({0}, options);
  const at::Tensor nothing = at::zeros({}, options);
  std::vector<at::Tensor> sums, ratios;
  std::vector<double> flags;
  // A task records what it has, be it on the device or on the host.
  for (const auto& name : known.means) {
    const auto own = sums_.find(name);
    sums.push_back(own == sums_.end() ? nothing : send(own->second, communicator.device()));
    flags.push_back(own == sums_.end() ? 0 : 1);
  }
  for (const auto& name : known.ratios) {
    const auto own = ratios_.find(name);
    ratios.push_back(own == ratios_.end() ? nothing : send(own->second.first, communicator.device()));
    ratios.push_back(own == ratios_.end() ? nothing : send(own->second.second, communicator.device()));
  }
  std::vector<at::Tensor> numbers;
  if (!sums.empty()) {
    numbers.push_back(at::stack(sums) / static_cast<double>(micro_batches));
    numbers.push_back(send(at::tensor(flags, at::kDouble), communicator.device()));
  }
  if (!ratios.empty()) numbers.push_back(at::stack(ratios));
  const at::Tensor reduced = at::cat(numbers);
  communicator.all_reduce(reduced, Reduce::mean).wait();
  return reduced;
}

Values Records::values_of(const at::Tensor& reduced, const std::string& prefix, const RecordNames& known) {
  Values values;
  const double* number = reduced.const_data_ptr<double>();
  const double* flag = number + known.means.size();
  const double* ratio = flag + known.means.size();
  for (const auto& name : known.means) {
    if (*flag++ > 0) values[prefix + name] = *number;
    ++number;
  }
  for (const auto& name : known.ratios) {
    if (ratio[1] != 0) values[prefix + name] = ratio[0] / ratio[1];
    ratio += 2;
  }
  return values;
}

Values Records::mean(int64_t micro_batches, const std::string& prefix, const RecordNames& known,
                     Communicator& communicator) const {
  return values_of(reduce(micro_batches, known, communicator).to(at::kCPU), prefix, known);
}

}  // namespace larmor

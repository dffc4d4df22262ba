#include "larmor/train/records.h"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/json.h"

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

/// Of the values of one kind of record, in the order of their names.
class Numbers {
 public:
  explicit Numbers(c10::Device device) : device_(device) {}
  // A task records what it has, be it on the device or on the host.
  void add(const at::Tensor& number) { numbers_.push_back(number.to(device_)); }
  void add(double number) { add(at::scalar_tensor(number, at::kDouble)); }
  at::Tensor stacked() const {
    return numbers_.empty() ? at::empty({0}, at::TensorOptions(device_).dtype(at::kDouble))
                            : at::stack(numbers_);
  }

 private:
  c10::Device device_;
  std::vector<at::Tensor> numbers_;
};

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

Values Records::mean(int64_t micro_batches, const std::string& prefix, const RecordNames& known,
                     Communicator& communicator) const {
  Values values;
  if (known.means.empty() && known.ratios.empty()) return values;
  Numbers sums(communicator.device()), flags(communicator.device()), ratios(communicator.device());
  for (const auto& name : known.means) {
    const auto own = sums_.find(name);
    own == sums_.end() ? sums.add(0.0) : sums.add(own->second);
    flags.add(own == sums_.end() ? 0.0 : 1.0);
  }
  for (const auto& name : known.ratios) {
    const auto own = ratios_.find(name);
    own == ratios_.end() ? ratios.add(0.0) : ratios.add(own->second.first);
    own == ratios_.end() ? ratios.add(0.0) : ratios.add(own->second.second);
  }
  auto means =
      at::cat({sums.stacked() / static_cast<double>(micro_batches), flags.stacked(), ratios.stacked()});
  communicator.all_reduce(means, Reduce::mean).wait();
  means = means.to(at::kCPU);
  const double* number = means.const_data_ptr<double>();
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

}  // namespace larmor

#include "workloads/survival/risk/covariates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <set>
#include <string_view>

#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/printable.h"
#include "larmor/base/text.h"

namespace larmor::survival {
namespace {

constexpr std::string_view covariate_prefix = "covariate ";

std::string name_of_number(const std::string& column) { return text(covariate_prefix, column); }

std::string name_of_category(const std::string& column, const std::string& cell) {
  return text(covariate_prefix, column, '=', cell);
}

bool is_covariate(std::string_view value) { return value.starts_with(covariate_prefix); }

bool is_in(const std::vector<std::string>& columns, const std::string& column) {
  return std::ranges::find(columns, column) != columns.end();
}

std::optional<double> finite_number(const std::string& cell) {
  double number = 0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, number);
  if (error != std::errc() || rest != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

double value_of(const Case& entry, const std::string& name) {
  const auto found = entry.values.find(name);
  return found == entry.values.end() ? 0 : found->second;
}

/// The numbers of the training cases that have one, and how many have none.
std::pair<std::vector<double>, int64_t> known_numbers(const std::string& column, const Index& index) {
  std::vector<double> known;
  int64_t without = 0;
  for (const int64_t number : index.of(Split::train)) {
    const Case& entry = index.cases[static_cast<std::size_t>(number)];
    if (value_of(entry, name_of_category(column, "")) != 0)
      ++without;
    else
      known.push_back(value_of(entry, name_of_number(column)));
  }
  return {known, without};
}

bool differ(const std::vector<double>& numbers) {
  return std::ranges::any_of(numbers, [&](const double number) { return number != numbers.front(); });
}

/// Throws Error (data) for "covariate sex=x", and for "covariate age=" of an empty cell.
[[noreturn]] void refuse_unseen_value(const std::string& value, const std::string& where) {
  const std::string words = value.substr(covariate_prefix.size());
  const auto sign = words.find('=');
  const std::string column = words.substr(0, sign), cell = words.substr(sign + 1);
  if (cell.empty())
    fail(Exit::data, text(where, "the covariate ", column, " is not given, and every training case had one"),
         "give it, or leave the case out");
  fail(Exit::data,
       text(where, "the covariate ", column, " is \"", printable(cell), "\", and no training case had that"),
       "correct the table, put such cases into train, or leave them out (data.exclude_list)");
}

}  // namespace

std::vector<std::string> CovariateColumns::all() const {
  std::vector<std::string> columns = numbers;
  columns.insert(columns.end(), categories.begin(), categories.end());
  return columns;
}

void CovariateColumns::check() const {
  std::set<std::string> seen;
  for (const std::string& column : all()) {
    if (column.empty() || column.find('=') != std::string::npos || column == "image")
      fail(Exit::usage, text("data.covariates names \"", column, "\", which cannot be a covariate"),
           "name columns of the table, without = in their names");
    if (!seen.insert(column).second)
      fail(Exit::usage, text("data.covariates names ", column, " twice"),
           "say it once, in data.covariates.numbers or in data.covariates.categories");
  }
}

std::optional<std::pair<std::string, double>> covariate_value(const CovariateColumns& columns,
                                                              const std::string& column,
                                                              const std::string& cell) {
  if (cell.empty() || !is_in(columns.numbers, column)) return std::pair{name_of_category(column, cell), 1.0};
  const auto number = finite_number(cell);
  if (!number) return std::nullopt;
  return std::pair{name_of_number(column), *number};
}

void check_covariates(const CovariateColumns& columns, const std::map<std::string, std::string>& given) {
  for (const std::string& column : columns.numbers) {
    const auto cell = given.find(column);
    if (cell == given.end() || covariate_value(columns, column, cell->second)) continue;
    fail(Exit::usage,
         text("the covariate ", column, " is \"", printable(cell->second), "\", which is no number"),
         "write it with digits and a point, or leave it empty where it is not known");
  }
}

void check_covariates(const CovariateColumns& columns, const Index& index) {
  for (const std::string& column : columns.numbers) {
    if (!differ(known_numbers(column, index).first))
      fail(Exit::data, text("the covariate ", column, " has no two different numbers in train"),
           "take it out of data.covariates.numbers: nothing can be learned from it");
  }
  std::set<std::string> seen;
  for (const int64_t number : index.of(Split::train)) {
    for (const auto& [name, value] : index.cases[static_cast<std::size_t>(number)].values) {
      if (value != 0) seen.insert(name);
    }
  }
  for (const Case& entry : index.cases) {
    for (const auto& [name, value] : entry.values) {
      const bool is_number =
          is_in(columns.numbers, name.substr(std::min(name.size(), covariate_prefix.size())));
      if (value != 0 && is_covariate(name) && !is_number && !seen.contains(name))
        refuse_unseen_value(name, entry.title() + ": ");
    }
  }
}

std::string covariate_cell(const CovariateColumns& columns, const std::string& column, const Case& entry) {
  const std::string beginning = name_of_category(column, "");
  for (const auto& [name, value] : entry.values) {
    if (value != 0 && name.starts_with(beginning)) return name.substr(beginning.size());
  }
  return is_in(columns.numbers, column) ? text(value_of(entry, name_of_number(column))) : std::string();
}

void complete_covariates(std::vector<ListedCase>& cases) {
  std::set<std::string> names;
  for (const ListedCase& entry : cases) {
    for (const auto& [name, value] : entry.values) {
      if (is_covariate(name)) names.insert(name);
    }
  }
  for (ListedCase& entry : cases) {
    for (const std::string& name : names) entry.values.emplace(name, 0);
  }
}

Covariates::Covariates(const CovariateColumns& columns, const Index& index)
    : columns_(columns), is_known_(!index.of(Split::train).empty()) {
  for (const std::string& column : columns_.numbers) add_number(column, index);
  for (const std::string& column : columns_.categories) add_categories(column, index);
}

void Covariates::add_number(const std::string& column, const Index& index) {
  Input input{.value = name_of_number(column), .empty = name_of_category(column, "")};
  const auto [known, without] = known_numbers(column, index);
  const auto count = static_cast<double>(std::max<std::size_t>(known.size(), 1));
  double squares = 0;
  for (const double value : known) input.mean += value / count;
  for (const double value : known) squares += (value - input.mean) * (value - input.mean) / count;
  input.deviation = differ(known) ? std::sqrt(squares) : 1;
  inputs_.push_back(input);
  if (!index.cases.empty() && index.cases.front().values.contains(input.empty))
    inputs_.push_back({.value = input.empty});
  columns_said_.push_back(text(column, " (mean ", fixed(input.mean, 2), ", deviation ",
                               fixed(input.deviation, 2),
                               without > 0 ? text(", not given in ", without) : std::string(), ')'));
}

void Covariates::add_categories(const std::string& column, const Index& index) {
  if (index.cases.empty()) {
    inputs_.push_back({.value = name_of_category(column, "")});
    return;
  }
  const std::string beginning = name_of_category(column, "");
  std::vector<std::string> words;
  for (const auto& [name, value] : index.cases.front().values) {  // all cases have the same names
    if (!name.starts_with(beginning)) continue;
    inputs_.push_back({.value = name});
    words.push_back(name == beginning ? "not given" : printable(name.substr(beginning.size())));
  }
  columns_said_.push_back(text(column, " (", join(words, ", "), ")"));
}

std::string Covariates::sentence() const { return text("covariates: ", join(columns_said_, ", ")); }

bool Covariates::has(const std::string& value) const {
  return std::ranges::any_of(inputs_, [&](const Input& input) { return input.value == value; });
}

at::Tensor Covariates::rows(const Batch& batch, const at::Tensor& image) const {
  const auto exact = image.options().dtype(at::kDouble);
  // A category that no case of another table has is no value of its batches, and 0.
  const auto values = [&](const std::string& name) {
    const auto found = batch.tensors.find(name);
    return found == batch.tensors.end() ? at::zeros({image.size(0)}, exact) : found->second.to(exact);
  };
  std::vector<at::Tensor> columns;
  for (const Input& input : inputs_) {
    at::Tensor value = (values(input.value) - input.mean) / input.deviation;
    columns.push_back(input.empty.empty() ? value : value * (1 - values(input.empty)));
  }
  return at::stack(columns, 1).to(image.scalar_type());
}

void Covariates::refuse_unseen(const Batch& batch) const {
  for (const auto& [name, values] : batch.tensors) {
    if (is_covariate(name) && !has(name) && values.ne(0).any().item<bool>()) refuse_unseen_value(name, "");
  }
}

Batch Covariates::batch_of(const std::map<std::string, std::string, std::less<>>& cells) const {
  Batch batch;
  for (const std::string& column : columns_.all()) {
    const auto cell = cells.find(column);
    const auto value = covariate_value(columns_, column, cell == cells.end() ? "" : cell->second);
    ensure(value.has_value());
    batch.tensors.emplace(value->first, at::scalar_tensor(value->second, at::kDouble).reshape({1}));
  }
  refuse_unseen(batch);
  return batch;
}

}  // namespace larmor::survival

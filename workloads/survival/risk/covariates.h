// Covariates: numbers and categories of the table that the network takes beside the image.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"

namespace larmor::survival {

/// Columns of the table, as the config names them.
struct CovariateColumns {
  std::vector<std::string> numbers, categories;

  bool empty() const { return numbers.empty() && categories.empty(); }
  /// Numbers first.
  std::vector<std::string> all() const;
  /// Throws Error (usage): a column twice, a name that is empty or holds `=`, and the name of the image.
  void check() const;
};

/// What a cell says, as a value of its case: "covariate age" 63, "covariate sex=f" 1, or of an empty cell
/// "covariate age=" 1. Nothing where a number cannot be read. Requires: `column` is one of `columns`.
std::optional<std::pair<std::string, double>> covariate_value(const CovariateColumns& columns,
                                                              const std::string& column,
                                                              const std::string& cell);

/// Throws Error (usage) for a text among `given`, by columns, that should be a number and is none.
void check_covariates(const CovariateColumns& columns, const std::map<std::string, std::string>& given);

/// The cell that gave a case its values.
std::string covariate_cell(const CovariateColumns& columns, const std::string& column, const Case& entry);

/// Gives each case every value that one of them has, as 0 where it has none: a batch is made of equal names.
void complete_covariates(std::vector<ListedCase>& cases);

/// Throws Error (data): a number without two different values in training; a case of val or test with a
/// category, or an empty cell, that no training case has.
void check_covariates(const CovariateColumns& columns, const Index& index);

/// How covariates become inputs of the network: a number less the training cases' mean and divided by their
/// deviation, a category as 0 or 1 for each that the table has. An empty cell is a category of its own,
/// and leaves a number at the mean. Training cases alone are asked, so that a run computes the same again.
class Covariates {
 public:
  /// An index without cases, of a network that is counted, gives one input a column.
  Covariates(const CovariateColumns& columns, const Index& index);

  int64_t inputs() const { return static_cast<int64_t>(inputs_.size()); }
  /// Whether training cases have said what inputs are. Without them there are shapes and no more.
  bool is_known() const { return is_known_; }
  /// What each column has become, for people.
  std::string sentence() const;
  /// [n, inputs] in the type of `image` [n, C, D, H, W] and on its device.
  at::Tensor rows(const Batch& batch, const at::Tensor& image) const;
  /// Throws Error (data) where a row of the batch has a category, or an empty cell, that training did not
  /// have.
  void refuse_unseen(const Batch& batch) const;
  /// A batch of one row, of cells by their columns. Throws Error (data) as refuse_unseen(). Requires:
  /// check_covariates() has let them pass.
  Batch batch_of(const std::map<std::string, std::string, std::less<>>& cells) const;

 private:
  struct Input {
    std::string value;  // its name among those of a case
    double mean = 0, deviation = 1;
    std::string empty = {};  // the value that says that there is no number
  };
  void add_number(const std::string& column, const Index& index);
  void add_categories(const std::string& column, const Index& index);
  bool has(const std::string& value) const;

  const CovariateColumns columns_;
  std::vector<Input> inputs_;
  bool is_known_ = false;
  std::vector<std::string> columns_said_;
};

}  // namespace larmor::survival

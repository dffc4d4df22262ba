// A validation as a small table for a person: a line a figure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/declared_figure.h"
#include "larmor/track/tracker.h"

namespace larmor {

class ValidationTable {
 public:
  /// A table of the options: figures, metric, lower_is_better and best.
  explicit ValidationTable(const ConsoleOptions& options);

  /// Name with its arrow, value with its unit, the change since the last validation of this start, and a mark
  /// at the metric where it is the best so far. Declared figures come first and in their order. Names with @
  /// are parts of a figure: those are for the log and TensorBoard.
  std::vector<std::string> lines(const Values& values);

 private:
  bool is_best(const std::string& name, double value);

  DeclaredFigures figures_;
  std::string metric_;
  bool lower_is_better_;
  std::optional<double> best_;
  Values last_;
};

}  // namespace larmor

// What a figure of a validation is, as the stage that gives it declares it: for everything that shows
// figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larmor {

enum class Better : uint8_t { neither, higher, lower };

/// What a figure is held against.
struct Baseline {
  std::string name;                  // of another figure; of a number what it stands for: "chance"
  std::optional<double> value = {};  // the number, where it is no figure
  /// What it says of a run that its figure is worse, and that it is not told apart, as the end of a sentence.
  std::string if_worse = "nothing learned yet", if_not_told_apart = {};
};

struct DeclaredFigure {
  std::string name;  // "psnr_brain"
  Better better = Better::neither;
  std::string unit = {};     // "dB", "HU"; empty: none
  std::string meaning = {};  // in a few words
  std::vector<Baseline> baselines = {};
};
using DeclaredFigures = std::vector<DeclaredFigure>;

/// Null where the figure of that name is not declared. Borrows the list.
const DeclaredFigure* find_figure(const DeclaredFigures& figures, std::string_view name);

/// "higher", "lower", "".
std::string to_text(Better better);
/// An arrow that points to where it is better; empty where neither is.
std::string arrow_of(Better better);

}  // namespace larmor

// Which modality a prediction is asked for, and of which ones training has seen anything.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/data/index/index.h"

namespace larmor::fast_ddpm {

/// Training cases by the modality that they have.
using ModalityCounts = std::map<std::string, int64_t>;

/// `before`: those that weights to begin with have seen, which count as well.
ModalityCounts count_modalities(const std::vector<std::string>& modalities, const Index& index,
                                const ModalityCounts& before = {});
/// Throws Error (checkpoint) where the file holds no counts.
ModalityCounts read_modality_counts(const std::filesystem::path& file);
/// The name under which a run keeps them, together with those of the run that it begins with.
constexpr const char* modality_counts_file = "modality_counts.json";
/// The counts, among Stage::kept_files().
std::optional<ModalityCounts> kept_modality_counts(const std::map<std::string, std::filesystem::path>& kept);

/// The number of the modality that `asked` names, or, where nothing is asked, of the only one that is not
/// given. `learnt`: where they are known. Throws Error (usage): nothing is given, several are missing or none
/// is, there is no such modality, or no training case had it.
int64_t asked_target(const std::vector<std::string>& modalities,
                     const std::function<bool(const std::string&)>& is_given,
                     const std::optional<std::string>& asked, const std::optional<ModalityCounts>& learnt);

/// The input of `predict` that asks.
constexpr const char* target_input = "target";
/// Refuses likewise what the inputs of a case ask for, as PredictionForm::check has it.
std::function<void(const std::map<std::string, std::string>&)> check_of_target(
    const std::vector<std::string>& modalities, const std::optional<ModalityCounts>& learnt);

}  // namespace larmor::fast_ddpm

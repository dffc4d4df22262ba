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

ModalityCounts count_modalities(const std::vector<std::string>& modalities, const Index& index);
/// Throws Error (checkpoint) where the file holds no counts.
ModalityCounts read_modality_counts(const std::filesystem::path& file);

/// The number of the modality that `asked` names, or, where nothing is asked, of the only one that is not
/// given. `learnt`: where they are known. Throws Error (usage): nothing is given, several are missing or none
/// is, there is no such modality, or no training case had it.
int64_t asked_target(const std::vector<std::string>& modalities,
                     const std::function<bool(const std::string&)>& is_given,
                     const std::optional<std::string>& asked, const std::optional<ModalityCounts>& learnt);

}  // namespace larmor::fast_ddpm

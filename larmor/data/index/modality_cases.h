// Cases of several files that a folder's names tell apart: data.modalities.
#pragma once

#include "larmor/data/index/find_cases.h"
#include "larmor/data/index/modality_names.h"

namespace larmor {

/// Files of one folder whose names differ in their modality alone are a case. Throws Error (data) where two
/// files are one modality of a case, or no file is of any.
FoundCases cases_of_modalities(const DataConfig& data, const ModalityNames& modalities);

}  // namespace larmor

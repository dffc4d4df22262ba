// Cases of DICOM files: slices that belong together, whatever they are called.
#pragma once

#include "larmor/data/index/find_cases.h"

namespace larmor {

/// The series below data.folder. Throws Error (data) where there is none, and as cases_of_places().
FoundCases cases_of_dicom(const DataConfig& data);

}  // namespace larmor

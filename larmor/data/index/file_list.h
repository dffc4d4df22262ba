// Every file below a data folder in one row: whose it is, or why it is in no case.
#pragma once

#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/data/index/index.h"

namespace larmor {

/// One row for each file below the data folder: [{path, case, patient, split}] of those that are taken,
/// {path, reason} of the others; sorted by path. Invented cases are none.
Json list_of_files(const Index& index);
/// The same as CSV without a header: path, case, patient, split, and in a fifth column the reason.
Lines lines_of_files(const Json& rows);

}  // namespace larmor

// data.exclude_list: a file that names, a line each, what is to be left out.
#pragma once

#include "larmor/data/index/find_cases.h"

namespace larmor {

/// Takes out the cases that the list names: by a patient, a case, or the path of one of its files, from the
/// data folder or whole. Blank lines and what begins with # are no names. They are in the account. Throws
/// Error (data): no such file, no case is left, or a line fits nothing, unless splits are made already
/// (without_splits()): then the list may be of other data.
void leave_out_listed(FoundCases& found, const DataConfig& data);

}  // namespace larmor

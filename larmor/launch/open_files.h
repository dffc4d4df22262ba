// How many files a rank holds open, which bounds how many ranks there can be.
#pragma once

#include <cstdint>

namespace larmor {

/// The number of open files of the rank that has most, the first one, among so many: its connections to the
/// others and what is open beside them.
int64_t open_files_of_rank(int ranks);
/// The hard limit of this process, to which begin_program() has raised the other one; the largest number
/// where there is none.
int64_t limit_of_open_files();
/// Throws Error (environment) where a rank among so many would need more than `limit`.
void refuse_too_many_ranks(int ranks, int64_t limit);

}  // namespace larmor

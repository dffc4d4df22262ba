// The one way onto ranks: this process is one, or all of them as threads, or starts a process for each.
#pragma once

#include <exception>
#include <functional>

#include "larmor/launch/group_ending.h"
#include "larmor/ranks/job.h"
#include "larmor/ranks/live_rank.h"

namespace larmor::ranks {

/// What a rank does. What is thrown there is the rank's failure.
using Body = std::function<void(LiveRank&)>;
/// Called once in each process that is a rank, or all of them: what ranks read but do not change is read
/// there, and shared by those that are threads.
using Prepare = std::function<Body()>;

/// Blocks until every rank has ended. Where this process is a rank, or all of them, calls `prepare` and what
/// it gives, and throws what these throw. Where it starts processes, they are started with the words of the
/// job, find the job (inherited_job()) and come here, too; what the first prints is what this process
/// prints, what others print goes to logs that last as long as the call; one that hangs is named and all are
/// ended. `give_up`: as run_rank_threads() has it.
GroupEnding run(const Job& job, const Prepare& prepare,
                const std::function<void(std::exception_ptr)>& give_up);

}  // namespace larmor::ranks

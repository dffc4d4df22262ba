// The cases of a call of `predict`, dealt out to processes: each asks for the next case when it is done with
// one. No collective joins them, so that one that is killed costs the case that it was at and nothing else.
#pragma once

#include <functional>
#include <vector>

#include "larmor/base/process/process.h"
#include "larmor/judge/prediction/prediction_run.h"
#include "larmor/watch/hang_watch.h"

namespace larmor {

/// Starts the ranks, deals out the cases and blocks until nothing is left of them: the results in the order
/// of the cases, whoever computed them. A rank that dies at a case is started again while cases are left;
/// what it was at has failed (rank_lost). So does one that has shown no heartbeat for longer than `hang`
/// allows; one that stands still while it starts is not started again. `before` is told of each case when it
/// is given away. Where no rank is left the other cases have failed, with the exit status of the first that
/// ended, which has said why on stderr; throws Error with it where no case was begun.
std::vector<PredictedCase> deal_out(const std::vector<PredictionCase>& cases,
                                    const std::vector<ProcessOptions>& ranks,
                                    const std::function<void(const PredictionCase&)>& before,
                                    const HangLimits& hang = {});

/// The other side, in a rank's process: predicts what it is given on its standard input until that ends, and
/// shows heartbeats there.
void serve_cases(const PredictionRun& run);

}  // namespace larmor

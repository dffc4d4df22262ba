// Whether all ranks are about to do the same thing: compared before the first step, because ranks that differ
// would hang, or exchange nonsense and not notice.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "larmor/comm/communicator.h"
#include "larmor/config/load.h"
#include "larmor/data/index/index.h"
#include "larmor/launch/rank.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// What one rank goes by.
struct StartFacts {
  std::string host;                           // this rank's
  std::map<std::string, std::string> values;  // "config.train.length" -> "24st", "plan.micro_batch" -> "2", …
  std::string data_complaint;  // what of the run's data this rank cannot see; "" when all is there
  std::string lacks_room;      // lack_of_room(), where this rank looks for its host
};

/// Config and plan key by key, the index, the program and its build. Where the run lies (run.folder,
/// run.name) may differ from host to host.
StartFacts start_facts(const LoadedConfig& config, const Plan& plan, const Index& index);

/// Holds the data that `make` finds against the run's index. What is missing or different, as the end of a
/// sentence about a rank ("has no t1/p03.nii.gz"); "" when nothing is.
std::string compare_data(const Index& agreed, const std::function<Index()>& make);

/// Whether this rank is the one to look for its host: the first of each, but for rank 0, from whose host the
/// index came.
bool looks_for_host(const Rank& rank);

/// Throws on all ranks, naming ranks, hosts, keys and both values: Error (usage) where they go by different
/// facts, Error (data) where one does not see the data, Error (environment) where one has no room for its
/// cache. Collective.
void agree_on_start(const StartFacts& facts, Communicator& communicator);

}  // namespace larmor

// What a run folder says has been sent to a service: RUN/sync/<service>.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "larmor/base/files/storage.h"
#include "larmor/run/run_folder.h"
#include "larmor/services/service.h"

namespace larmor {

struct SentRecord {
  std::string key;                          // RunIntroduction::key
  ServiceSettings to;                       // where it went
  uint64_t place = 0;                       // of the log; what stands before it was sent
  std::map<std::string, int64_t> pictures;  // the step of the last one that was sent, by name
};

/// A new one, with a key that no other run has, where none is there or it cannot be read. One that was sent
/// elsewhere keeps its key and has sent nothing.
SentRecord read_sent(const RunFolder& folder, const TrackingService& service,
                     const ServiceSettings& settings);
void write_sent(Storage& storage, const RunFolder& folder, const TrackingService& service,
                const SentRecord& record);

}  // namespace larmor

// Reading single variables: missing, malformed and contradicting ones are refused by name and value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "larmor/launch/rank.h"

namespace larmor {

/// Null when the variable is not set.
const std::string* find_variable(const Environment& environment, std::string_view name);
/// Requires: the variable is set. Throws Error (usage) when it is no whole number in the range.
int64_t read_number(const Environment& environment, std::string_view name, int64_t least, int64_t most);
/// `otherwise` when it is not set; a number from 0 when it is.
int64_t read_number_or(const Environment& environment, std::string_view name, int64_t otherwise);
/// Whether it says True or 1; not when it is not set, empty, False or 0. Throws Error (usage) else.
bool read_flag(const Environment& environment, std::string_view name);

struct HostAndPort {
  std::string host;
  int port = 0;
};
/// `made` with what MASTER_ADDR and MASTER_PORT say in its place: the job file's word goes before what we
/// make of the job. Throws Error (usage) for malformed ones, and for loopback when ranks are on
/// `several_hosts`: loopback is never the way to another host.
HostAndPort stated_master_or(const Environment& environment, HostAndPort made, bool several_hosts);

/// 20000 to 29999, below the ports that the system hands out by itself; the same for the same job.
int port_of_job(std::string_view job);

}  // namespace larmor

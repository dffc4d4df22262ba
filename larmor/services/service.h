// Programs of others that show runs: W&B, MLflow, Trackio. Each is one file of this folder, which says the
// keys of its section of the configuration and how numbers and pictures reach it; the build finds the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace larmor {

/// A key of the section track.<service>.
struct ServiceKey {
  enum class Kind { plain, yes_no, list };  // a list is kept as "a,b"
  const char* name;
  const char* help;
  Kind kind = Kind::plain;
  const char* variable = "";   // of the environment, where the configuration says nothing
  const char* otherwise = "";  // and where neither does
};

/// The settings, by key; what is not given is "", a yes "true".
using ServiceSettings = std::map<std::string, std::string>;

/// One line of the event log. A number that was not finite is nothing.
struct SentEvent {
  uint64_t place = 0;  // of the line in the log, in bytes: the same however often it is sent
  double time = 0;     // seconds since the epoch
  int64_t generation = 0, step = 0;
  double epoch = 0;
  std::string kind, words;
  std::vector<std::pair<std::string, std::optional<double>>> values;
};

struct SentPicture {
  std::string name;  // "reconstruction"
  int64_t step = 0;
  std::filesystem::path file;  // PNG
};

/// What a service is told of a run before its numbers.
struct RunIntroduction {
  std::string key;                           // of the run among all runs: eight bytes in hexadecimal, random
  std::string name;                          // of the run's folder
  std::filesystem::path folder;              // absolute
  double began = 0;                          // seconds since the epoch
  std::map<std::string, std::string> keys;   // of the configuration, with their values
  std::map<std::string, std::string> facts;  // workload, stage, host, program, hardware, origins of keys
};

enum class RunState { training, done, failed, stopped };

/// The service cannot be reached, or is not able to answer now: another try may succeed.
class ServiceUnreachable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A run as the service has it. Each call sends all or throws: ServiceUnreachable, or Error (environment)
/// where the service refuses. What is sent twice is there once, or twice with equal steps and times.
class ServiceRun {
 public:
  virtual ~ServiceRun() = default;
  /// Where a person finds it.
  virtual std::string place() const = 0;
  virtual void send(std::span<const SentEvent> events) = 0;
  virtual void send(const SentPicture& picture) = 0;
  virtual void tell(RunState state) = 0;
};

struct TrackingService {
  std::string name;   // of its section and of `sync --to`
  std::string title;  // as people write it
  std::vector<ServiceKey> keys;
  std::string turned_on_by;  // the key: runs are sent as they train where it is given, or says yes
  /// The seconds after which what it was given outlasts the end of the sender.
  double settles_after = 0;
  /// Throws Error (usage) where they cannot be meant, without a network.
  std::function<void(const ServiceSettings&)> check;
  /// The run that an earlier sender has opened with the same introduction's key, or a new one. Throws as
  /// ServiceRun does.
  std::function<std::unique_ptr<ServiceRun>(const ServiceSettings&, const RunIntroduction&)> open;

  /// Whether a run with these settings is sent as it trains: not with the mode "disabled".
  bool is_on(const ServiceSettings& settings) const;
};

/// All of this build, by name. Generated from the files of this folder.
const std::vector<TrackingService>& services();
/// Throws Error (usage) with the nearest name and all of them.
const TrackingService& service_named(const std::string& name);

/// `given`, what the environment says where that says nothing, and what stands for neither.
ServiceSettings settings_of(const TrackingService& service, const ServiceSettings& given);

}  // namespace larmor

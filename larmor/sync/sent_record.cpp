#include "larmor/sync/sent_record.h"

#include <exception>

#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/random_bytes.h"

namespace larmor {

namespace {

/// Those that say where a run is shown.
ServiceSettings whereabouts(ServiceSettings settings) {
  for (const char* const other : {"pictures", "tags", "name", "enabled"}) settings.erase(other);
  return settings;
}

std::filesystem::path file_of(const RunFolder& folder, const TrackingService& service) {
  return folder.sync() / (service.name + ".json");
}

}  // namespace

SentRecord read_sent(const RunFolder& folder, const TrackingService& service,
                     const ServiceSettings& settings) {
  SentRecord record;
  try {
    const auto json = read_json(file_of(folder, service));
    record.key = json.at("key");
    record.to = json.at("to").get<ServiceSettings>();
    record.place = json.at("place");
    record.pictures = json.at("pictures").get<std::map<std::string, int64_t>>();
  } catch (const std::exception&) {
    record = {};
  }
  if (record.key.empty()) record.key = random_name();
  if (record.to == whereabouts(settings)) return record;
  return {.key = record.key, .to = whereabouts(settings)};
}

void write_sent(Storage& storage, const RunFolder& folder, const TrackingService& service,
                const SentRecord& record) {
  write_text(
      storage, file_of(folder, service),
      to_text(
          {{"key", record.key}, {"to", record.to}, {"place", record.place}, {"pictures", record.pictures}}));
}

}  // namespace larmor

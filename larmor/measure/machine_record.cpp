#include "larmor/measure/machine_record.h"

#include <utility>

#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/files/user_cache.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/device/trial_record.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// The measures that a file keeps of a machine: an object, empty where there is no such file or it is torn.
Json measures_in(const fs::path& file, const std::string& machine) {
  if (file.empty() || !fs::exists(file)) return Json::object();
  try {
    const Json json = read_json(file);
    if (json.value("machine", "") == machine) return json.value("measures", Json::object());
  } catch (const std::exception&) {
    // Whatever it is, it is no record of this machine: what is measured next takes its place.
  }
  return Json::object();
}

}  // namespace

MachineRecord::MachineRecord(fs::path file, std::string machine, const Clock& clock)
    : file_(std::move(file)), machine_(std::move(machine)), clock_(clock) {}

std::optional<Measure> MachineRecord::kept(const std::string& name) const {
  const Json measures = measures_in(file_, machine_);
  const auto found = measures.find(name);
  if (found == measures.end() || !found->is_object()) return std::nullopt;
  const auto value = found->find("value"), day = found->find("day");
  if (value == found->end() || !value->is_number() || day == found->end() || !day->is_string())
    return std::nullopt;
  return Measure{.value = value->get<double>(), .day = day->get<std::string>()};
}

Measure MachineRecord::kept_or(const std::string& name, const std::function<double()>& measure) const {
  if (auto known = kept(name)) return *known;
  const double value = measure();
  if (auto known = kept(name)) return *known;  // another start has been quicker
  const Measure own = of_today(value);
  keep(name, own);
  return kept(name).value_or(own);
}

void MachineRecord::keep_anew(const std::string& name, double value) const { keep(name, of_today(value)); }

Measure MachineRecord::of_today(double value) const {
  constexpr size_t letters_of_a_day = 10;
  return {.value = value, .day = utc_text(clock_.wall_seconds()).substr(0, letters_of_a_day)};
}

void MachineRecord::keep(const std::string& name, const Measure& measure) const {
  if (file_.empty()) return;
  Json measures = measures_in(file_, machine_);
  measures[name] = {{"value", measure.value}, {"day", measure.day}};
  try {
    DiskStorage disk;  // no operation of the run, and no place of a planted fault
    disk.create_folders(file_.parent_path());
    write_text(disk, file_, to_text(Json{{"machine", machine_}, {"measures", measures}}));
  } catch (const Error&) {  // the next start measures again
  }
}

void MachineRecord::forget() const {
  DiskStorage disk;
  if (!file_.empty()) remove_file(disk, file_);
}

MachineRecord machine_record() {
  const std::string machine =
      text(cpu_description(), ", ", ::sysconf(_SC_NPROCESSORS_CONF), " cores, larmor ", version());
  const fs::path folder = user_cache_folder();
  constexpr size_t letters_of_a_name = 16;
  return {folder.empty() ? fs::path()
                         : folder / "machines" / (sha256(machine).substr(0, letters_of_a_name) + ".json"),
          machine};
}

}  // namespace larmor

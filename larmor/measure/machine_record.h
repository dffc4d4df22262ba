// What was measured of this machine, kept for one user, so that equal commands are planned alike whatever
// else the machine does at the moment (docs/decisions/0099).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "larmor/base/clock.h"

namespace larmor {

/// A number, and when it was measured.
struct Measure {
  double value = 0;
  std::string day;  // "2026-11-27"
};

class MachineRecord {
 public:
  /// The record of the measures in `file`, those of a machine that is described by the same words count. An
  /// empty path: nothing is kept.
  MachineRecord(std::filesystem::path file, std::string machine, const Clock& clock = system_clock());

  std::optional<Measure> kept(const std::string& name) const;
  /// What is kept under `name`; otherwise what `measure` gives, which is kept from then on, unless the file
  /// cannot be written. Of several starts at once all take what is kept in the end.
  Measure kept_or(const std::string& name, const std::function<double()>& measure) const;
  /// Keeps the value in place of what is kept under `name`.
  void keep_anew(const std::string& name, double value) const;
  /// Forgets all measures of this machine: the next start measures again. Throws Error (environment).
  void forget() const;

 private:
  void keep(const std::string& name, const Measure& measure) const;
  Measure of_today(double value) const;

  std::filesystem::path file_;
  std::string machine_;
  const Clock& clock_;
};

/// The record of this machine, in the user's cache folder. Machines are told apart by the model and the
/// instructions of their CPU, what variables take away of them, the number of their cores, libtorch and the
/// version of the program, and not by their names: hosts of one kind plan alike.
MachineRecord machine_record();

}  // namespace larmor

// Examples that are of no use: files that cannot be read, examples that the task refuses, cases that no
// validation can take. All of them are bad files, told of once and counted together (run/quarantine.h).
#pragma once

#include <exception>
#include <map>
#include <set>

#include "larmor/data/dataset.h"
#include "larmor/run/quarantine.h"

namespace larmor {

/// A batch that the task has refused (Error, data), and which of its examples are at fault.
class RefusedExamples final : public Error {
 public:
  RefusedExamples(const Error& refusal, std::map<int64_t, BadFile> examples)
      : Error(refusal), examples_(std::move(examples)) {}
  const std::map<int64_t, BadFile>& examples() const { return examples_; }

 private:
  std::map<int64_t, BadFile> examples_;
};

/// All that a rank knows of. One thread.
class BadExamples {
 public:
  /// `cases` are those of training. Borrows all.
  BadExamples(const Dataset& cases, Quarantine& quarantine, Communicator& communicator)
      : cases_(cases), quarantine_(quarantine), communicator_(communicator) {}

  /// `forward` of a batch of training. Where it throws Error (data), each example is tried alone, and
  /// RefusedExamples is thrown with those that are refused then, crops of one volume together. All of the
  /// batch count where none is, and where `can_divide` is false, because ranks need each other for a forward.
  void try_forward(const Batch& batch, bool can_divide,
                   const std::function<void(const Batch&)>& forward) const;
  /// Whether a step that has failed on some rank did so on every rank for nothing but refused examples: then
  /// no rank is given them again, and the step can be done with others. `failure` is this rank's; null where
  /// it has none. Collective.
  bool leave_out(const std::exception_ptr& failure);
  /// Examples of training that the task has refused, of all ranks: no loader is to try them.
  const std::map<int64_t, BadFile>& left_out() const { return left_out_; }

  /// Files that this rank has found to be bad, the same ones perhaps as before.
  void add(const std::vector<BadFile>& files);
  /// Whether there are some that this rank has not shared.
  bool has_new() const { return quarantine_.lacks_some(files_); }
  /// Tells of what is new on any rank. Throws Error (data) on all ranks where they are too many. Collective.
  void share(const Moment& when) { quarantine_.share(files_, when); }

 private:
  std::map<int64_t, BadFile> refused_of(const Batch& batch, const Error& refusal, bool can_divide,
                                        const std::function<void(const Batch&)>& forward) const;

  const Dataset& cases_;
  Quarantine& quarantine_;
  Communicator& communicator_;
  std::vector<BadFile> files_;  // in the order in which they were found, each once
  std::set<std::string> paths_;
  std::map<int64_t, BadFile> left_out_;
};

}  // namespace larmor

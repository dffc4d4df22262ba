// What becomes of the keys of a DeepSpeed config: values under ours, and a line for each key of theirs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/config/foreign/deepspeed.h"

namespace larmor::deepspeed {

/// Whether it is null or "auto".
bool is_left_open(const Node& value);
/// Nothing where it is neither true nor false.
std::optional<bool> flag_in(const Node& value);
/// Nothing where it is no finite number.
std::optional<double> number_in(const Node& value);
/// Whether it asks for nothing: false, 0, "none", or what DeepSpeed fills in itself.
bool is_off(const Node& value);

/// The value below the words; nothing where there is none.
const Entry* find_below(const Node& root, std::string_view section, std::string_view key);
/// The same in the section's `params`.
const Entry* find_parameter(const Node& root, std::string_view section, std::string_view key);

/// `key` is the whole of DeepSpeed's, such as "scheduler.params.warmup_num_steps".
class Answers {
 public:
  explicit Answers(Problems& problems);
  /// The answers in the order of the file's lines. Once.
  Translation take();

  /// Our key gets DeepSpeed's value as it stands.
  void pass(const std::string& key, const std::string& our_key, const Entry& entry);
  /// Our key gets `value`.
  void give(const std::string& key, const char* our_key, const char* value, const Entry& entry);
  /// The same without a line.
  void put(const char* our_key, const std::string& value, const Entry& entry);
  void put(std::span<const std::string> our_key, Node value, const Entry& entry);
  /// It is left open, and so ours stays.
  void open(const std::string& key, const std::string& our_key, const Entry& entry);
  /// Nothing of ours stands for it.
  void unused(const std::string& key, const Entry& entry);
  /// DeepSpeed would refuse it too; `what` that begins with "has to be" is told with the value.
  void fault(const std::string& key, const Entry& entry, std::string what);
  /// A line for a key that gives none of ours a value.
  void note(const Entry& entry, const std::string& what);
  /// A line for one that does, or that a flag of the command says.
  void tell(const Entry& entry, const std::string& what);
  /// Whose value our key has.
  void come_from(const std::string& our_key, const std::string& key);
  /// A flag of the command says it.
  void say(const std::string& key, const std::string& flag, const Entry& entry);

 private:
  Problems& problems_;
  Translation result_;
  struct Note {
    int line;
    std::string words;
    bool has_key;
  };
  std::vector<Note> notes_;
};

}  // namespace larmor::deepspeed

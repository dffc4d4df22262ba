// The visitor that fills a config from what was said, and notes the origin of every value.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "larmor/config/assignments.h"
#include "larmor/config/fields.h"
#include "larmor/config/load.h"

namespace larmor {

class Reader final : public Fields {
 public:
  Reader(const Assignments& assignments, std::vector<std::string>& faults) : assignments_(assignments), faults_(faults) {}

  void field(const char* name, bool& value, const char* help) override;
  void field(const char* name, int64_t& value, const char* help, Range range) override;
  void field(const char* name, double& value, const char* help, Range range) override;
  void field(const char* name, std::string& value, const char* help) override;
  void field(const char* name, Length& value, const char* help) override;
  void field(const char* name, std::vector<std::string>& value, const char* help) override;
  void field(const char* name, std::vector<int64_t>& value, const char* help, Range range) override;
  void field(const char* name, std::vector<double>& value, const char* help, Range range) override;
  void field(const char* name, std::vector<bool>& value, const char* help) override;
  void field(const char* name, std::optional<bool>& value, const char* help) override;
  void field(const char* name, std::optional<int64_t>& value, const char* help, Range range) override;
  void field(const char* name, Json& value, const char* help) override;
  void bytes(const char* name, std::optional<uint64_t>& value, const char* help) override;
  void word(const char* name, std::string& value, const std::vector<std::string>& words, const char* help) override;
  void section(const char* name, const std::function<void(Fields&)>& describe) override;

  /// One per leaf that was visited, in listing order.
  std::vector<Origin>& origins() { return origins_; }
  /// Faults for every key that somebody set and no field claimed.
  void refuse_unknown_keys();

 private:
  /// Reads one field: `parse` sets the value from a node or returns what was expected instead.
  template <class Value, class Parse, class Print>
  void read(const char* name, Value& value, const char* help, const Parse& parse, const Print& print);
  /// A list whose items `parse_item` reads.
  template <class Item, class ParseItem>
  void read_list(const char* name, std::vector<Item>& value, const char* help, const ParseItem& parse_item);
  std::string outside(double number, Range range) const;

  const Assignments& assignments_;
  std::vector<std::string>& faults_;
  std::string prefix_;
  std::vector<Origin> origins_;
  std::vector<std::string> leaves_;
  std::set<std::string> sections_;
};

}  // namespace larmor

// One field of a listing, whatever its type: what the visitors over a listing work on.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/config/source.h"

namespace larmor {

struct Leaf {
  using Target = std::variant<bool*, int64_t*, double*, std::string*, Length*, std::vector<std::string>*,
                              std::vector<int64_t>*, std::vector<double>*, std::vector<bool>*,
                              std::optional<bool>*, std::optional<int64_t>*, Json*, std::optional<uint64_t>*>;

  std::string name;
  Target target;  // where the value lives
  std::string help;
  Range range = {};
  std::span<const std::string> words = {};  // all that a word can be; empty for other types
  bool is_path = false;                     // of a text

  /// Whether `auto` is one of its values: then a plan may choose for it.
  bool can_be_auto() const;
};

/// The value as YAML flow text that reads back to the same value.
std::string value_text(const Leaf& leaf);
/// The value as JSON.
Json value_json(const Leaf& leaf);
/// Puts a written value in. Otherwise leaves the field alone and gives the complaint: "has to be …; got …".
std::optional<std::string> assign(const Leaf& leaf, const Node& value);
/// JSON Schema of the values that `assign` takes.
Json schema_of(const Leaf& leaf);

/// Folds the overloads of Fields into one call.
class LeafVisitor : public Fields {
 public:
  void field(const char* name, bool& value, const char* help) final;
  void field(const char* name, int64_t& value, const char* help, Range range) final;
  void field(const char* name, double& value, const char* help, Range range) final;
  void field(const char* name, std::string& value, const char* help) final;
  void field(const char* name, Length& value, const char* help) final;
  void field(const char* name, std::vector<std::string>& value, const char* help) final;
  void field(const char* name, std::vector<int64_t>& value, const char* help, Range range) final;
  void field(const char* name, std::vector<double>& value, const char* help, Range range) final;
  void field(const char* name, std::vector<bool>& value, const char* help) final;
  void field(const char* name, std::optional<bool>& value, const char* help) final;
  void field(const char* name, std::optional<int64_t>& value, const char* help, Range range) final;
  void field(const char* name, Json& value, const char* help) final;
  void bytes(const char* name, std::optional<uint64_t>& value, const char* help) final;
  void word(const char* name, std::string& value, const std::vector<std::string>& words,
            const char* help) final;
  void path(const char* name, std::string& value, const char* help) final;

 protected:
  virtual void visit(const Leaf& leaf) = 0;
};

}  // namespace larmor

// The listing as JSON Schema (draft 2020-12), for editors and checkers.
#include <initializer_list>
#include <limits>
#include <variant>
#include <vector>

#include "larmor/config/leaf.h"
#include "larmor/config/load.h"

namespace larmor {
namespace {

Json with_range(const char* type, const Range& range) {
  constexpr Range open;
  Json schema;
  schema["type"] = type;
  // Bounds of whole numbers are whole numbers.
  const auto bound = [](double value) {
    const auto whole = static_cast<int64_t>(value);
    return static_cast<double>(whole) == value ? Json(whole) : Json(value);
  };
  if (range.least > open.least) schema["minimum"] = bound(range.least);
  if (range.most < open.most) schema["maximum"] = bound(range.most);
  return schema;
}

Json any_of(std::initializer_list<Json> choices) {
  Json schema;
  schema["anyOf"] = Json::array();
  for (const Json& choice : choices) schema["anyOf"].push_back(choice);
  return schema;
}

Json constant(Json value) {
  Json schema;
  schema["const"] = std::move(value);
  return schema;
}

Json pattern(const char* expression) {
  Json schema;
  schema["type"] = "string";
  schema["pattern"] = expression;
  return schema;
}

// A name may look like a number without being in quotes.
Json free_text() {
  Json schema;
  schema["type"] = Json::array({"string", "number"});
  return schema;
}

Json list_of(Json items) {
  Json schema;
  schema["type"] = "array";
  schema["items"] = std::move(items);
  return schema;
}

struct SchemaOf {
  const Leaf& leaf;

  Json operator()(const bool*) const { return {{"type", "boolean"}}; }
  Json operator()(const int64_t*) const { return with_range("integer", leaf.range); }
  Json operator()(const double*) const { return with_range("number", leaf.range); }
  Json operator()(const std::string*) const {
    if (leaf.words.empty()) return free_text();
    Json schema;
    schema["enum"] = Json::array();
    for (const std::string& word : leaf.words) schema["enum"].push_back(word);
    return schema;
  }
  Json operator()(const Length*) const {
    return any_of({constant(0), pattern("^(0|(0|[1-9][0-9]*)((\\.[0-9]+)?(ep|s|min|h)|(\\.0+)?st))$")});
  }
  Json operator()(const std::vector<std::string>*) const { return list_of(free_text()); }
  Json operator()(const std::vector<int64_t>*) const { return list_of(with_range("integer", leaf.range)); }
  Json operator()(const std::vector<double>*) const { return list_of(with_range("number", leaf.range)); }
  Json operator()(const std::vector<bool>*) const { return list_of({{"type", "boolean"}}); }
  Json operator()(const std::optional<bool>*) const {
    return any_of({constant("auto"), {{"type", "boolean"}}});
  }
  Json operator()(const std::optional<int64_t>*) const {
    return any_of({constant("auto"), with_range("integer", leaf.range)});
  }
  Json operator()(const Json*) const { return Json::object(); }
  Json operator()(const std::optional<uint64_t>*) const {
    const Json bytes = with_range("integer", at_least_zero);
    return any_of({constant("auto"), bytes, pattern("^[0-9]+(\\.[0-9]+)?( *([TGMK]iB|[TGMKk]B|B))?$")});
  }
};

class SchemaWriter final : public LeafVisitor {
 public:
  explicit SchemaWriter(Json& into) : into_(into) {
    into_["type"] = "object";
    into_["additionalProperties"] = false;
    into_["properties"] = Json::object();
  }

  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    SchemaWriter below(into_["properties"][name]);
    describe(below);
  }

 protected:
  void visit(const Leaf& leaf) override {
    Json schema = schema_of(leaf);
    schema["description"] = leaf.help;
    schema["default"] = value_json(leaf);
    into_["properties"][leaf.name] = std::move(schema);
  }

 private:
  Json& into_;
};

}  // namespace

Json schema_of(const Leaf& leaf) { return std::visit(SchemaOf{leaf}, leaf.target); }

Json config_schema(const WorkloadFields& fields) {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Larmor configuration";
  SchemaWriter writer(schema);
  RunConfig defaults;
  describe(defaults, fields, writer);
  return schema;
}

}  // namespace larmor

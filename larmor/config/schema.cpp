#include "larmor/config/load.h"

namespace larmor {

namespace {

/// Writes JSON Schema where others read and print.
class SchemaWriter final : public Fields {
 public:
  explicit SchemaWriter(Json& object) : object_(object) {
    object_["type"] = "object";
    object_["additionalProperties"] = false;
    object_["properties"] = Json::object();
  }

  void field(const char* name, bool& value, const char* help) override { add(name, {{"type", "boolean"}}, value, help); }
  void field(const char* name, int64_t& value, const char* help, Range range) override {
    add(name, ranged("integer", range), value, help);
  }
  void field(const char* name, double& value, const char* help, Range range) override {
    add(name, ranged("number", range), value, help);
  }
  void field(const char* name, std::string& value, const char* help) override { add(name, {{"type", "string"}}, value, help); }
  void field(const char* name, Length& value, const char* help) override {
    add(name, {{"type", {"string", "integer"}}, {"pattern", "^[0-9.]+(ep|st|s|min|h)?$"}}, to_text(value), help);
  }
  void field(const char* name, std::vector<std::string>& value, const char* help) override {
    add(name, list_of({{"type", "string"}}), value, help);
  }
  void field(const char* name, std::vector<int64_t>& value, const char* help, Range range) override {
    add(name, list_of(ranged("integer", range)), value, help);
  }
  void field(const char* name, std::vector<double>& value, const char* help, Range range) override {
    add(name, list_of(ranged("number", range)), value, help);
  }
  void field(const char* name, std::vector<bool>& value, const char* help) override {
    add(name, list_of({{"type", "boolean"}}), value, help);
  }
  void field(const char* name, std::optional<bool>& value, const char* help) override {
    add(name, or_auto({{"type", "boolean"}}), value ? Json(*value) : Json("auto"), help);
  }
  void field(const char* name, std::optional<int64_t>& value, const char* help, Range range) override {
    add(name, or_auto(ranged("integer", range)), value ? Json(*value) : Json("auto"), help);
  }
  void field(const char* name, Json& value, const char* help) override { add(name, Json::object(), value, help); }
  void bytes(const char* name, std::optional<uint64_t>& value, const char* help) override {
    add(name, {{"type", {"string", "integer"}}}, value ? Json(bytes_text(*value)) : Json("auto"), help);
  }
  void word(const char* name, std::string& value, const std::vector<std::string>& words, const char* help) override {
    add(name, {{"enum", words}}, value, help);
  }
  void section(const char* name, const std::function<void(Fields&)>& describe) override {
    SchemaWriter inner(object_["properties"][name]);
    describe(inner);
  }

 private:
  static Json ranged(const char* type, Range range) {
    const Range all;
    Json schema;
    schema["type"] = type;
    if (range.least != all.least) schema["minimum"] = range.least;
    if (range.most != all.most) schema["maximum"] = range.most;
    return schema;
  }
  static Json list_of(Json items) {
    Json schema;
    schema["type"] = "array";
    schema["items"] = std::move(items);
    return schema;
  }
  static Json or_auto(Json schema) {
    Json word;
    word["const"] = "auto";
    Json either;
    either["anyOf"] = Json::array({std::move(schema), std::move(word)});
    return either;
  }
  void add(const char* name, Json schema, const Json& built_in, const char* help) {
    schema["description"] = help;
    schema["default"] = built_in;
    object_["properties"][name] = std::move(schema);
  }

  Json& object_;
};

}  // namespace

Json config_schema(const WorkloadFields& fields) {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Larmor run configuration";
  SchemaWriter writer(schema);
  RunConfig config;
  describe(config, fields, writer);
  return schema;
}

}  // namespace larmor

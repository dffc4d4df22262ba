#include "larmor/base/json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr size_t depth_limit = 64;

// Walks the source and lets the builder see how far the parser has read, for line numbers.
struct Cursor {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;

  reference operator*() const { return *at; }
  Cursor& operator++() {
    ++at;
    if (reached != nullptr) *reached = at;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Cursor& other) const { return at == other.at; }
};

// Builds the value from the parser's events, so that duplicate keys and depth are seen while reading.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view source, std::string_view place) : source_(source), place_(place) {}

  const char** reached() { return &reached_; }
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t& /*source*/) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.names.insert(name).second) refuse(reached_, text("key \"", name, "\" is given twice"));
    level.next = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    // "[json.exception…] parse error at line 1, column 2: what": the place is ours to say.
    std::string what = error.what();
    const size_t column = what.find("column ");
    const size_t start = column == std::string::npos ? what.find("] ") : what.find(": ", column);
    if (start != std::string::npos) what.erase(0, start + 2);
    refuse(source_.data() + std::min(position, source_.size()), std::move(what));
  }

 private:
  struct Level {
    Json* value;
    std::string next;
    std::unordered_set<std::string> names;
  };

  // Returns where the value was put; containers are filled in place, so their addresses stay good until
  // closed.
  Json* place(Json&& value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& level = levels_.back();
    if (level.value->is_array()) {
      auto& items = level.value->get_ref<Json::array_t&>();
      return &items.emplace_back(std::move(value));
    }
    // The key is new, and a search for it through all earlier ones would make long objects quadratic.
    auto& members = level.value->get_ref<Json::object_t&>();
    return &members.emplace_back(std::move(level.next), std::move(value)).second;
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (levels_.size() == depth_limit)
      refuse(reached_, text("nested more than ", depth_limit, " levels deep"));
    levels_.push_back({.value = place(std::move(container)), .next = {}, .names = {}});
    return true;
  }

  bool close() {
    levels_.pop_back();
    return true;
  }

  [[noreturn]] void refuse(const char* at, const std::string& what) const {
    const int64_t line = 1 + std::count(source_.data(), at, '\n');
    fail(Exit::data, text(place_, ':', line, ": not valid JSON: ", what));
  }

  std::string_view source_;
  std::string_view place_;
  const char* reached_ = source_.data();
  Json root_;
  std::vector<Level> levels_;
};

}  // namespace

Json parse_json(std::string_view source, std::string_view place) {
  Builder builder(source, place);
  const Cursor first{source.data(), builder.reached()};
  const Cursor last{source.data() + source.size(), nullptr};
  Json::sax_parse(first, last, &builder);
  return builder.take();
}

Json read_json(const std::filesystem::path& path) { return parse_json(read_text(path), path.string()); }

std::string to_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace larmor

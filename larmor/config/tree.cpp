#include "larmor/config/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

constexpr size_t longest_source = size_t{1} << 20;
constexpr size_t deepest = 64;

[[noreturn]] void refuse(const std::string& place, int line, const std::string& why) {
  fail(Exit::usage, text(place, ":", line, ": ", why));
}

// JSON's comments become blanks, so that lines keep their numbers; YAML reads the rest.
std::string without_json_comments(std::string_view source) {
  std::string out(source);
  const auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  };
  bool in_string = false;
  for (size_t i = 0; i < out.size(); ++i) {
    if (in_string) {
      if (out[i] == '\\') ++i;
      else if (out[i] == '"') in_string = false;
    } else if (out[i] == '"') {
      in_string = true;
    } else if (out[i] == '\t') {
      out[i] = ' ';
    } else if (out.compare(i, 2, "//") == 0) {
      const auto end = std::min(out.find('\n', i), out.size());
      blank(i, end);
      i = end;
    } else if (out.compare(i, 2, "/*") == 0) {
      const auto close = out.find("*/", i + 2);
      const auto end = close == std::string::npos ? out.size() : close + 2;
      blank(i, end);
      i = end - 1;
    }
  }
  return out;
}

bool looks_like_json(std::string_view source) {
  const auto body = trim(source);
  return body.starts_with("{") || body.starts_with("//") || body.starts_with("/*");
}

/// Builds the tree from yaml-cpp's events: they tell of anchors, aliases and places, which its nodes hide.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& place) : place_(place) {}
  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check(mark, "", anchor);
    Node node;
    node.line = mark.line + 1;
    put(std::move(node));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(place_, mark.line + 1, "aliases (*name) are not read"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    check(mark, tag, anchor);
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    node.line = mark.line + 1;
    if (!node.quoted && (value == "~" || value == "null" || value.empty())) node.kind = Node::Kind::null;
    put(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::list);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, Node::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Node node;
    std::string key;
    bool has_key = false;
  };

  void check(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse(place_, mark.line + 1, "anchors (&name) are not read");
    if (!tag.empty() && tag != "?" && tag != "!") refuse(place_, mark.line + 1, text("the tag ", tag, " is not read"));
  }
  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Node::Kind kind) {
    check(mark, tag, anchor);
    if (open_.size() >= deepest) refuse(place_, mark.line + 1, text("nested more than ", deepest, " deep"));
    if (!open_.empty() && open_.back().node.kind == Node::Kind::map && !open_.back().has_key) {
      refuse(place_, mark.line + 1, "a key has to be a word");
    }
    Node node;
    node.kind = kind;
    node.line = mark.line + 1;
    open_.push_back({std::move(node), "", false});
  }
  void close() {
    auto node = std::move(open_.back().node);
    open_.pop_back();
    put(std::move(node));
  }
  void put(Node node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    auto& parent = open_.back();
    if (parent.node.kind == Node::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      for (const auto& [key, value] : parent.node.entries) {
        if (key == node.text) refuse(place_, node.line, text("the key ", node.text, " is there twice; first in line ", value.line));
      }
      parent.key = node.text;
      parent.has_key = true;
    } else {
      parent.node.entries.emplace_back(std::move(parent.key), std::move(node));
      parent.has_key = false;
    }
  }

  const std::string& place_;
  std::vector<Open> open_;
  Node root_;
};

}  // namespace

Node parse_tree(std::string_view source, const std::string& place) {
  if (source.size() > longest_source) refuse(place, 1, "a config of more than 1 MiB is not read");
  std::istringstream stream(looks_like_json(source) ? without_json_comments(source) : std::string(source));
  Builder builder(place);
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder) && parser) {
      Builder second(place);
      if (parser.HandleNextDocument(second)) refuse(place, 1, "more than one document in a file");
    }
  } catch (const YAML::Exception& error) {
    refuse(place, error.mark.line + 1, error.msg);
  }
  return builder.take();
}

}  // namespace larmor

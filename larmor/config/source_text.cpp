// Config texts before YAML sees them: JSON told from YAML, comments taken out of JSON.
#include <algorithm>

#include "larmor/config/source.h"

namespace larmor {
namespace {

constexpr std::string_view blanks = " \t\r\n";

// Where the comment that begins at `at` ends; `at` itself when none begins there.
size_t end_of_comment(std::string_view content, size_t at) {
  const std::string_view rest = content.substr(at);
  if (rest.starts_with("//")) return std::min(content.find('\n', at), content.size());
  if (!rest.starts_with("/*")) return at;
  const size_t end = content.find("*/", at + 2);
  return end == std::string_view::npos ? content.size() : end + 2;
}

size_t end_of_string(std::string_view content, size_t at) {
  for (size_t i = at + 1; i < content.size(); ++i) {
    if (content[i] == '\\') {
      ++i;
    } else if (content[i] == '"') {
      return i + 1;
    }
  }
  return content.size();
}

// The next letter that is neither blank nor comment.
size_t skip_comments(std::string_view content, size_t at) {
  while (at < content.size()) {
    const size_t next = end_of_comment(content, at);
    if (next == at && blanks.find(content[at]) == std::string_view::npos) return at;
    at = std::max(next, at + 1);
  }
  return content.size();
}

}  // namespace

bool looks_like_json(std::string_view content) {
  const size_t first = skip_comments(content, 0);
  if (first == content.size() || content[first] != '{') return false;
  // YAML has mappings in braces too, but with bare keys, and there "//" and "/*" belong to paths and globs.
  const size_t second = skip_comments(content, first + 1);
  return second < content.size() && (content[second] == '"' || content[second] == '}');
}

std::string without_comments(std::string_view json) {
  std::string out(json);
  for (size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      at = end_of_string(json, at);
      continue;
    }
    const size_t end = end_of_comment(json, at);
    if (end == at) {
      ++at;
      continue;
    }
    for (; at < end; ++at) {
      if (json[at] != '\n' && json[at] != '\r') out[at] = ' ';
    }
  }
  return out;
}

}  // namespace larmor

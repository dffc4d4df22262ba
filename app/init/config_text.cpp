#include "app/init/config_text.h"

#include <algorithm>
#include <cstddef>
#include <regex>

#include "larmor/base/text.h"

namespace larmor::app {

namespace {

constexpr const char* indent = "  ";

bool is_in_section(const std::string& line) { return line.starts_with(' ') || line.empty(); }
bool is_entry(const std::string& line) {
  return line.starts_with(indent) && line.size() > 2 && line[2] != ' ';
}

}  // namespace

ConfigText::ConfigText(const std::string& shipped) : lines_(split(shipped, '\n')) {
  while (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
  const auto body = std::ranges::find_if(lines_, [](const auto& line) { return !line.starts_with('#'); });
  lines_.erase(lines_.begin(), body);
}

std::vector<std::string>::iterator ConfigText::inside(const std::string& section) {
  const auto name = std::ranges::find(lines_, section + ":");
  return name == lines_.end() ? name : name + 1;
}

void ConfigText::put(const std::string& section, const Entry& entry) {
  if (const auto dot = entry.key.find('.'); dot != std::string::npos) {
    const auto outer = entry.key.substr(0, dot), inner = entry.key.substr(dot + 1) + ": " + entry.value;
    const auto braces = text(indent, outer, ": {");
    const auto line = std::find_if(inside(section), lines_.end(),
                                   [&](const std::string& one) { return one.starts_with(braces); });
    if (line == lines_.end()) return put(section, {outer, "{" + inner + "}", entry.why});
    line->insert(braces.size(), inner + ", ");
    return;
  }
  const auto braces = section + ": {";
  const auto flow = std::ranges::find_if(lines_, [&](const auto& line) { return line.starts_with(braces); });
  if (flow != lines_.end()) {
    const std::regex there(text("([{ ])", entry.key, ": [^,}]*"));
    const auto changed = std::regex_replace(*flow, there, text("$1", entry.key, ": ", entry.value));
    if (changed == *flow)
      return static_cast<void>(flow->insert(braces.size(), text(entry.key, ": ", entry.value, ", ")));
    *flow = changed;
    return;
  }
  take_out(section, entry.key + ":");
  auto place = inside(section);
  if (place == lines_.end()) place = lines_.insert(lines_.begin(), section + ":") + 1;
  lines_.insert(place,
                text(indent, entry.key, ": ", entry.value, entry.why.empty() ? "" : "  # ", entry.why));
}

void ConfigText::take_out(const std::string& section, const std::string& beginning) {
  for (auto line = inside(section); line != lines_.end() && is_in_section(*line);) {
    if (!line->starts_with(indent + beginning)) {
      ++line;
      continue;
    }
    line = lines_.erase(line);
    while (line != lines_.end() && is_in_section(*line) && !is_entry(*line)) line = lines_.erase(line);
  }
}

void ConfigText::replace(const std::string& words, const std::string& others) {
  for (auto& line : lines_) {
    if (const auto place = line.find(words); place != std::string::npos)
      line.replace(place, words.size(), others);
  }
}

void ConfigText::begin_with(const std::vector<std::string>& comments) {
  std::vector<std::string> lines;
  for (const auto& comment : comments) lines.push_back("# " + comment);
  lines_.insert(lines_.begin(), lines.begin(), lines.end());
}

std::string ConfigText::str() const { return join(lines_, "\n") + "\n"; }

}  // namespace larmor::app

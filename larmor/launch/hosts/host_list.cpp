#include "larmor/launch/hosts/host_list.h"

#include <algorithm>
#include <charconv>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

constexpr size_t most_entries = 65536, longest_name = 255, longest_number = 9;

[[noreturn]] void refuse_list(std::string_view list, std::string_view why) {
  constexpr size_t shown = 200;
  fail(Exit::usage,
       text("\"", list.substr(0, shown), list.size() > shown ? "…" : "",
            "\" is no list of the scheduler: ", why),
       "let the scheduler set it, or unset its variables and start torchrun or larmor train by hand");
}

bool is_short_number(std::string_view word) {
  return !word.empty() && word.size() <= longest_number &&
         word.find_first_not_of("0123456789") == std::string_view::npos;
}

int64_t short_number(std::string_view digits) {
  int64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string padded_number(int64_t number, size_t width) {
  auto digits = text(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

/// The numbers of "01-03,07", as they are written into the names.
std::vector<std::string> numbers_of(std::string_view list, std::string_view range_list) {
  std::vector<std::string> numbers;
  for (const auto& range : split(range_list, ',')) {
    const auto dash = range.find('-');
    const std::string_view first = std::string_view(range).substr(0, dash);
    const std::string_view last =
        dash == std::string::npos ? first : std::string_view(range).substr(dash + 1);
    if (!is_short_number(first) || !is_short_number(last))
      refuse_list(list, text("[", range, "] is no range"));
    const int64_t low = short_number(first), high = short_number(last);
    if (high < low) refuse_list(list, text("the range ", range, " runs backwards"));
    if (static_cast<size_t>(high - low) >= most_entries - numbers.size())
      refuse_list(list, text("it names more than ", most_entries, " hosts"));
    for (int64_t number = low; number <= high; ++number)
      numbers.push_back(padded_number(number, first.size()));
  }
  return numbers;
}

bool is_host_name(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
  });
}

/// Every name with every ending; the last brackets run fastest.
std::vector<std::string> joined_names(std::string_view list, const std::vector<std::string>& names,
                                      const std::vector<std::string>& endings) {
  if (names.size() * endings.size() > most_entries)
    refuse_list(list, text("it names more than ", most_entries, " hosts"));
  std::vector<std::string> all;
  all.reserve(names.size() * endings.size());
  for (const auto& name : names) {
    for (const auto& ending : endings) {
      all.push_back(name + ending);
      if (all.back().size() > longest_name) refuse_list(list, "a name is too long");
    }
  }
  return all;
}

/// The names of one entry: words and brackets in turn.
std::vector<std::string> expand_entry(std::string_view list, std::string_view entry) {
  if (entry.empty()) refuse_list(list, "a name is missing");
  std::vector<std::string> names{""};
  while (!entry.empty()) {
    const auto open = std::min(entry.find('['), entry.size());
    const auto word = entry.substr(0, open);
    if (!is_host_name(word)) refuse_list(list, text("\"", word, "\" is no name"));
    names = joined_names(list, names, {std::string(word)});
    entry.remove_prefix(open);
    if (entry.empty()) break;
    const auto close = entry.find(']');
    if (close == std::string_view::npos) refuse_list(list, "a bracket is not closed");
    names = joined_names(list, names, numbers_of(list, entry.substr(1, close - 1)));
    entry.remove_prefix(close + 1);
  }
  return names;
}

/// Where the entry that starts the text ends: at a comma outside of brackets.
size_t entry_end(std::string_view rest) {
  bool inside = false;
  for (size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '[') inside = true;
    if (rest[i] == ']') inside = false;
    if (rest[i] == ',' && !inside) return i;
  }
  return rest.size();
}

}  // namespace

std::vector<std::string> expand_host_list(std::string_view list) {
  constexpr size_t longest_list = size_t{1} << 20;
  if (list.size() > longest_list) refuse_list(list, "it is too long");
  std::vector<std::string> hosts;
  for (std::string_view rest = list;; rest.remove_prefix(1)) {
    const auto end = entry_end(rest);
    const auto names = expand_entry(list, rest.substr(0, end));
    if (hosts.size() + names.size() > most_entries)
      refuse_list(list, text("it names more than ", most_entries, " hosts"));
    hosts.insert(hosts.end(), names.begin(), names.end());
    rest.remove_prefix(end);
    if (rest.empty()) return hosts;
  }
}

std::vector<int64_t> expand_counts(std::string_view list) {
  std::vector<int64_t> counts;
  for (const auto& word : split(list, ',')) {
    const std::string_view entry = word;
    const auto open = entry.find("(x");
    const bool has_times = open != std::string_view::npos;
    const auto times = has_times && entry.ends_with(')') ? entry.substr(open + 2, entry.size() - open - 3)
                                                         : std::string_view(has_times ? "" : "1");
    if (!is_short_number(entry.substr(0, open)) || !is_short_number(times))
      refuse_list(list, text("\"", entry, "\" is no count"));
    if (static_cast<size_t>(short_number(times)) > most_entries - counts.size())
      refuse_list(list, text("it counts more than ", most_entries, " nodes"));
    counts.insert(counts.end(), static_cast<size_t>(short_number(times)),
                  short_number(entry.substr(0, open)));
  }
  return counts;
}

}  // namespace larmor

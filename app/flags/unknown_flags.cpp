#include "app/flags/unknown_flags.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::app {
namespace {

/// "" where nothing is known of it.
std::string answer_to(const std::string& flag, const KnownFlags& known) {
  const auto instead = hint_for_foreign_flag(flag, known.answers);
  if (!instead.empty()) return instead;
  const auto near = nearest(flag, known.flags);
  return near.empty() ? "" : text("did you mean ", near, "?");
}

}  // namespace

ForeignFlags foreign_flags(const std::vector<Workload>& workloads, const std::vector<std::string>& words) {
  ForeignFlags all;
  for (const bool first : {true, false}) {
    for (const auto& one : workloads) {
      const bool is_named = std::ranges::find(words, one.name()) != words.end();
      if (is_named == first) all.insert(one.guide().flags.begin(), one.guide().flags.end());
    }
  }
  return all;
}

void refuse_unknown_flags(const std::vector<std::string>& words, const KnownFlags& known) {
  std::vector<std::string> flags, lines;
  std::string answer;
  for (const auto& word : words) {
    if (!word.starts_with("-")) continue;
    flags.push_back(word.substr(0, word.find('=')));
    answer = answer_to(flags.back(), known);
    lines.push_back(text(flags.back(), answer.empty() ? "" : ": ", answer));
  }
  const auto larmor = text("larmor", known.verb.empty() ? "" : " ", known.verb);
  if (flags.size() == 1)
    fail(Exit::usage, text(flags.front(), " is not a flag of ", larmor),
         answer.empty() ? known.help : answer);
  if (!flags.empty())
    fail(Exit::usage, text(flags.size(), " flags are not those of ", larmor, ":", items(lines)), known.help);
}

}  // namespace larmor::app

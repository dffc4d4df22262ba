#include "larmor/data/index/modality_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/index/index.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_modality(const std::string& what) {
  fail(Exit::usage, text("data.modalities: ", what),
       "say {t1n: [t1, t1n], label: [seg]}: a name for each modality, and the ends of its files' names");
}

bool is_word(const std::string& name) {
  const auto is_plain = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_plain);
}

std::string ending_in(const Json& value, const std::string& modality) {
  // A bare 1 or true in YAML is meant as text here, too.
  const std::string ending = value.is_string() ? value.get<std::string>() : value.dump();
  if (value.is_structured() || ending.empty())
    refuse_modality(text(modality, " has the ending ", value.dump()));
  return lower(ending);
}

}  // namespace

ModalityNames::ModalityNames(const Json& declared) {
  if (declared.is_null()) return;
  if (!declared.is_object()) refuse_modality(text(declared.dump().substr(0, 200), " is no mapping"));
  for (const auto& [modality, endings] : declared.items()) {
    if (!is_word(modality)) refuse_modality(text('"', modality, "\" is no name of letters, digits and _"));
    Name name{modality, {}};
    if (endings.is_array()) {
      for (const Json& ending : endings) name.endings.push_back(ending_in(ending, modality));
    } else {
      name.endings.push_back(ending_in(endings, modality));
    }
    if (name.endings.empty()) refuse_modality(text(modality, " has no ending"));
    for (const Name& other : names_) {
      for (const std::string& ending : name.endings) {
        const auto same = std::find(other.endings.begin(), other.endings.end(), ending);
        if (same != other.endings.end())
          refuse_modality(text(ending, " is an ending of ", other.modality, " and of ", modality));
      }
    }
    names_.push_back(std::move(name));
  }
}

std::vector<std::string> ModalityNames::channels() const {
  std::vector<std::string> channels;
  for (const Name& name : names_) {
    if (is_image(name_of_modality(name.modality))) channels.push_back(name.modality);
  }
  return channels;
}

std::vector<std::string> ModalityNames::names() const {
  std::vector<std::string> all;
  for (const Name& name : names_) all.push_back(name.modality);
  return all;
}

std::string ModalityNames::listed() const {
  std::vector<std::string> all;
  for (const Name& name : names_) all.push_back(text(name.modality, " (", join(name.endings, ", "), ")"));
  return join(all, ", ");
}

std::optional<ModalityNames::Match> ModalityNames::match(std::string_view stem) const {
  const std::string low = lower(stem);
  std::optional<Match> best;
  std::size_t longest = 0;
  for (const Name& name : names_) {
    for (const std::string& ending : name.endings) {
      if (ending.size() <= longest || !low.ends_with(ending)) continue;
      const std::size_t rest = low.size() - ending.size();
      const bool is_apart =
          rest == 0 || std::string_view("-_.").find(low[rest - 1]) != std::string_view::npos;
      if (!is_apart) continue;
      best = {std::string(stem.substr(0, rest == 0 ? 0 : rest - 1)), name.modality};
      longest = ending.size();
    }
  }
  return best;
}

}  // namespace larmor

// A config of DeepSpeed's, given as a file of that name, and what is said of it.
#pragma once

#include <string>
#include <vector>

#include "tests/config/support/made_up_workload.h"

namespace larmor {

inline LoadedConfig load_json(const std::string& content) {
  const ConfigFile file(content, "ds.json");
  return load(file.sources());
}

/// The notes without the folder of the file: "ds.json:2: …".
inline std::vector<std::string> notes_of(const std::string& content) {
  std::vector<std::string> notes;
  for (const std::string& note : load_json(content).notes) notes.push_back(note.substr(note.find("ds.json")));
  return notes;
}

inline std::string refusal_of_json(const std::string& content) {
  const ConfigFile file(content, "ds.json");
  return refusal_of(file.sources());
}

}  // namespace larmor

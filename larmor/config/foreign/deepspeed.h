// DeepSpeed's JSON as a config of ours: what it says in our keys, and what of it means nothing here.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/config/source.h"

namespace larmor {

/// Whether a config text is DeepSpeed's: JSON of which some top-level key is DeepSpeed's and none is ours.
bool is_deepspeed(std::string_view content, const Node& root);

struct Translation {
  Node tree;                                  // our keys, at the places of DeepSpeed's
  std::vector<std::string> notes;             // one sentence for every key of the file, in its order
  std::vector<std::string> without_key = {};  // those of the notes whose keys give none of ours a value
  std::map<std::string, std::string> came_from = {};  // their key, by ours: "optim.clip_norm"
  std::vector<std::string> flags = {};  // what is said on the command line instead: "--nnodes 2"
};
/// Values that DeepSpeed would refuse too, and states on a disk (nvme), are problems. `auto` leaves ours.
Translation translate_deepspeed(const Node& root, Problems& problems);

}  // namespace larmor

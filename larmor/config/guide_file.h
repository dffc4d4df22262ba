// What the configuration files of a guide say, key by key, in larmor's words. Each workload has the table of
// its own guide, beside its README.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace larmor {

/// One key of a guide's file, and what becomes of its value.
struct GuideKey {
  enum class Way {
    as_it_is,
    counted,   // numbers above 0, to each of which `form` is added: "ep" makes 20ep of 20
    placed,    // in the place of {} in `form`; without {} it is `form` alone
    chosen,    // by `form`: "true=auto|false=fp32"; "true=" leaves ours as it is; another value is a fault
    listed,    // a list, or the one value of a list: [2] for 2
    edge,      // three equal numbers, or one: 64 for [64, 64, 64]
    fixed,     // one of `form`, "2|two": there is nothing else here, and `ours` says so
    unneeded,  // the key changes nothing here; `ours` says why
    missing,   // larmor does not have what the key asks for; `ours` says so
    flag,  // the flag `ours` of the command says it, with the value for {}; of `form` nothing need be said
  };
  /// "training.epochs". A mapping stands for all below it; `stages[].depth` is that of each item of a list of
  /// mappings, each of which is for the stage that its `name` says.
  std::string_view theirs;
  /// "train.length"; "diffusion:train.length" is for that stage alone. A key that stands for several of ours
  /// has a row for each.
  const char* ours;
  Way way = Way::as_it_is;
  const char* form = "";
  /// The key counts for nothing where the one of this name beside it, if it is there, is false.
  std::string_view unless_off = {};
};

/// One kind of file.
struct GuideFile {
  std::string_view name;                   // "the file of the VQA guide"
  std::vector<std::string_view> known_by;  // sections or keys at the top: a file of this kind has one of them
  std::span<const GuideKey> keys;          // borrowed
};
using GuideFiles = std::vector<GuideFile>;

}  // namespace larmor

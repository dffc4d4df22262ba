// What another program was told, as a config of ours that a person can keep.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "larmor/config/guide_file.h"
#include "larmor/config/run_config.h"

namespace larmor {

struct ImportedConfig {
  struct Value {
    std::string key;    // "train.length"; "stage1:model.depth" where it is for that stage alone
    std::string value;  // as YAML flow text
    std::string from;   // their key: "training.epochs"
  };
  std::vector<Value> values;
  std::vector<std::string> flags;  // what is said beside the config: "--nnodes 2"
  std::vector<std::string> notes;  // a sentence for each key that has become none of ours

  /// What load_config reads, each value with their key in a comment.
  std::string to_yaml() const;
};

/// What the imports of a workload go by.
struct ImportTerms {
  const GuideFiles& guide_files;
  const std::vector<std::string>& stages;
  const ForeignFlags& flags;  // the answers of the workload's guide
  bool batch_is_of_all;       // --batch_size counts the examples of all ranks together
};

/// Throws Error (usage) with every fault of the file, as load_config() does; a file that is ours already is
/// one.
ImportedConfig import_file(const std::filesystem::path& file, const ImportTerms& terms);
/// Whether it is a file of the workload's guide in which import_file() finds no fault.
bool can_import(const std::filesystem::path& file, const ImportTerms& terms);

/// The words of torchrun, `python -m torch.distributed.run` and `.launch`, deepspeed, `accelerate launch`,
/// python and bash, with those of the script behind.
ImportedConfig import_command(std::span<const std::string> words, const ImportTerms& terms);
/// The script that the words start; "" where there is none.
std::string script_of(std::span<const std::string> words);

}  // namespace larmor

// Which modality a file is of, told by the end of its name: <id>-t1n.nii.gz, <id>_pa_drr.png.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

class ModalityNames {
 public:
  /// `declared` is data.modalities: {t1n: [t1, t1n], label: seg}, or null. Throws Error (usage).
  explicit ModalityNames(const Json& declared);

  bool empty() const { return names_.empty(); }
  /// The declared modalities that are channels of an image, in their order; label and masks are none.
  std::vector<std::string> channels() const;
  /// All that are declared, in their order.
  std::vector<std::string> names() const;
  /// Every ending, for messages: "t1n (t1, t1n)".
  std::string listed() const;

  struct Match {
    std::string id;        // what is left of the name; empty where the ending is all of it
    std::string modality;  // "t1n"
  };
  /// `stem` is a file's name without folder and suffix. The longest ending behind -, _ or . counts, whatever
  /// the case of its letters. Nothing where there is none.
  std::optional<Match> match(std::string_view stem) const;

 private:
  struct Name {
    std::string modality;
    std::vector<std::string> endings;  // lower case
  };
  std::vector<Name> names_;
};

}  // namespace larmor

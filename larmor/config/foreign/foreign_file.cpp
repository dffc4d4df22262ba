#include "larmor/config/foreign/foreign_file.h"

#include "larmor/config/foreign/accelerate.h"
#include "larmor/config/foreign/guide_translation.h"

namespace larmor {

std::optional<Translation> translate_foreign_file(std::string_view content, const Node& root,
                                                  const GuideFiles& guide_files,
                                                  const std::vector<std::string>& stages,
                                                  Problems& problems) {
  if (is_deepspeed(content, root)) return translate_deepspeed(root, problems);
  if (const GuideFile* const guides = guide_file_of(root, guide_files))
    return translate_guide_file(root, *guides, stages, problems);
  if (guide_file_of(root, {accelerate_file()}) != nullptr) return translate_accelerate(root, problems);
  return std::nullopt;
}

}  // namespace larmor

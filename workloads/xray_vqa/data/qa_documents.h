// The JSON documents of MIMIC-Ext-CXR-QBA, read as streams: nothing of a document is kept but what is handed
// on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/xray_vqa/data/answer_class.h"
#include "workloads/xray_vqa/data/question_facts.h"

namespace larmor::xray_vqa {

/// What is taken of a question. Borrows its words, which live until the next document.
struct QaQuestion {
  std::string_view id, type, question;
  std::string quality;  // as it is written: a letter or a code
  AnswerFacts answer;   // of the answer marked main_answer, else of the first
  bool has_answer = false;
};

/// The image that a study's boxes are meant for.
struct WantedImage {
  std::string_view id;
  int64_t width = 0, height = 0;
};

struct SceneObjects {
  std::vector<SceneObject> objects;
  int64_t boxes_outside = 0;  // boxes that lie outside the image, or are none: the whole image instead
};

/// One thread: keeps the memory of its parser.
class QaReader {
 public:
  QaReader();
  ~QaReader();

  /// What a buffer has to have behind a document's text.
  static std::size_t padding();
  /// `document` is followed by padding() bytes. Throws Error (data): no JSON, cut short, of another shape;
  /// the questions before the fault were given. The name is the caller's to add.
  void read_questions(std::string_view document, const std::function<void(const QaQuestion&)>& take);
  /// Every observation: the first box on the wanted image, else on the first image that has one; its first
  /// region and entity. Throws Error (data) likewise.
  SceneObjects read_scene(std::string_view document, const WantedImage& image, const Vocabularies& lists);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace larmor::xray_vqa

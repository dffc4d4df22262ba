// libFuzzer target: any bytes are refused with an Error or read as a document of questions, and as a scene
// (tests/fuzz/oracles.h).
#include "larmor/base/error.h"

#include "workloads/xray_vqa/data/qa_documents.h"

#include "tests/fuzz/oracles.h"

namespace {

using namespace larmor::xray_vqa;

larmor::fuzz::Product read(std::string_view bytes) {
  static const Vocabularies lists{NameList({"left lung", "right lung"}), NameList({"nodule"})};
  const std::string padded = std::string(bytes) + std::string(QaReader::padding(), ' ');
  const std::string_view document = std::string_view(padded).substr(0, bytes.size());
  QaReader reader;
  larmor::fuzz::Product product;
  try {
    for (const SceneObject& object : reader.read_scene(document, {"a", 40, 20}, lists).objects) {
      const Box& box = object.box;
      if (!(0 <= box.x1 && box.x1 < box.x2 && box.x2 <= 1 && 0 <= box.y1 && box.y1 < box.y2 && box.y2 <= 1))
        larmor::fuzz::broken("a box does not lie in its image");
    }
  } catch (const larmor::Error&) {
  }
  reader.read_questions(document, [&](const QaQuestion& question) {
    const auto type = static_cast<std::size_t>(find_question_type(question.type));
    answer_class(question_types()[type], question.answer, lists);
    product.add(question.question);
    product.add(question.quality);
  });
  return product;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  return larmor::fuzz::hold(data, size, read, {.whole = false});
}

#include "workloads/xray_vqa/data/qa_documents.h"

#include <algorithm>
#include <array>
#include <optional>

#include <simdjson.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::xray_vqa {
namespace {

namespace json = simdjson::ondemand;
using PixelBox = std::array<double, 4>;

// The text of a value that is one; "" of any other.
std::string_view word_of(json::value value) {
  std::string_view word;
  if (value.type() != json::json_type::string) return {};
  word = value.get_string();
  return word;
}

// A letter or a code; of an object or a list the first of its values, not too deep.
std::string scalar_of(json::value value, int depth = 0) {
  constexpr int deepest = 3;
  if (depth > deepest) return {};
  switch (value.type()) {
    case json::json_type::string:
      return std::string(word_of(value));
    case json::json_type::number:
    case json::json_type::boolean:
      return std::string(trim(std::string_view(value.raw_json_token())));
    case json::json_type::object:
      for (auto field : value.get_object()) return scalar_of(field.value(), depth + 1);
      return {};
    case json::json_type::array:
      for (auto entry : value.get_array()) return scalar_of(entry.value(), depth + 1);
      return {};
    case json::json_type::null:
      break;
  }
  return {};
}

// The first string of a list, or the string itself.
std::string_view first_word(json::value value) {
  if (value.type() != json::json_type::array) return word_of(value);
  for (auto entry : value.get_array()) {
    json::value first = entry.value();
    return word_of(first);
  }
  return {};
}

// [[type, value], …]: the value of type severity.
std::string_view severity_of(json::value modifiers) {
  if (modifiers.type() != json::json_type::array) return {};
  for (auto entry : modifiers.get_array()) {
    json::value pair = entry.value();
    if (pair.type() != json::json_type::array) continue;
    bool is_severity = false;
    std::size_t place = 0;
    std::string_view found;
    for (auto part : pair.get_array()) {
      const std::string_view word = word_of(part.value());
      if (place == 0) is_severity = word == "severity";
      if (place == 1 && is_severity) found = word;
      ++place;
    }
    if (!found.empty()) return found;
  }
  return {};
}

struct Answer {
  AnswerFacts facts;
  bool is_main = false;
};

Answer read_answer(json::object answer) {
  Answer read;
  for (auto field : answer) {
    const std::string_view key = field.unescaped_key();
    json::value value = field.value();
    if (key == "answer_type") {
      read.is_main = word_of(value) == "main_answer";
    } else if (key == "text") {
      read.facts.words = word_of(value);
    } else if (key == "positiveness") {
      read.facts.positiveness = word_of(value);
    } else if (key == "regions") {
      read.facts.region = first_word(value);
    } else if (key == "obs_entities") {
      read.facts.entity = first_word(value);
    } else if (key == "modifiers") {
      read.facts.severity = severity_of(value);
    }
  }
  return read;
}

void read_answers(json::value answers, QaQuestion& question) {
  if (answers.type() != json::json_type::array) return;
  for (auto entry : answers.get_array()) {
    json::value value = entry.value();
    if (value.type() != json::json_type::object) continue;
    const Answer answer = read_answer(value.get_object());
    if (question.has_answer && !answer.is_main) continue;
    question.answer = answer.facts;
    question.has_answer = true;
    if (answer.is_main) return;
  }
}

QaQuestion read_question(json::object object) {
  QaQuestion question;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    json::value value = field.value();
    if (key == "question_id") {
      question.id = word_of(value);
    } else if (key == "question_type") {
      question.type = word_of(value);
    } else if (key == "question") {
      question.question = word_of(value);
    } else if (key == "question_quality") {
      question.quality = scalar_of(value);
    } else if (key == "answers") {
      read_answers(value, question);
    }
  }
  return question;
}

// The first region of an observation: a name, or an object that has one under "region".
std::string_view region_of(json::value regions) {
  if (regions.type() != json::json_type::array) return word_of(regions);
  for (auto entry : regions.get_array()) {
    json::value first = entry.value();
    if (first.type() != json::json_type::object) return word_of(first);
    std::string_view name;
    for (auto field : first.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "region") name = word_of(field.value());
    }
    return name;
  }
  return {};
}

std::optional<PixelBox> first_box(json::value boxes) {
  if (boxes.type() != json::json_type::array) return std::nullopt;
  for (auto entry : boxes.get_array()) {
    json::value corners = entry.value();
    if (corners.type() != json::json_type::array) return std::nullopt;
    PixelBox box{};
    std::size_t count = 0;
    for (auto corner : corners.get_array()) {
      double number = 0;
      if (count < box.size() && corner.get_double().get(number) == simdjson::SUCCESS) box[count] = number;
      ++count;
    }
    return count == box.size() ? std::optional(box) : PixelBox{};
  }
  return std::nullopt;
}

// One image's entry of a localization.
void read_localization(json::object entry, std::string_view key, const WantedImage& image,
                       std::optional<PixelBox>& box, bool& is_wanted) {
  bool wanted = key == image.id;
  std::optional<PixelBox> found;
  for (auto field : entry) {
    const std::string_view name = field.unescaped_key();
    if (name == "image_id") wanted = wanted || word_of(field.value()) == image.id;
    if (name == "bboxes") found = first_box(field.value());
  }
  if (!found || (box && (is_wanted || !wanted))) return;
  box = found;
  is_wanted = wanted;
}

std::optional<PixelBox> box_of(json::value localization, const WantedImage& image) {
  std::optional<PixelBox> box;
  bool is_wanted = false;
  if (localization.type() != json::json_type::object) return box;
  for (auto field : localization.get_object()) {
    const std::string_view key = field.unescaped_key();
    json::value value = field.value();
    if (value.type() == json::json_type::object)
      read_localization(value.get_object(), key, image, box, is_wanted);
  }
  return box;
}

// Shares of the image; nothing where no part of the box lies in it.
std::optional<Box> box_in(const PixelBox& pixels, const WantedImage& image) {
  const auto share = [](double place, int64_t length) {
    return static_cast<float>(std::clamp(place / static_cast<double>(length), 0.0, 1.0));
  };
  const Box box{share(pixels[0], image.width), share(pixels[1], image.height), share(pixels[2], image.width),
                share(pixels[3], image.height)};
  return box.x1 < box.x2 && box.y1 < box.y2 ? std::optional(box) : std::nullopt;
}

}  // namespace

struct QaReader::State {
  json::parser parser;

  template <class Work>
  void parse(std::string_view document, const Work& work) {
    try {
      json::document parsed = parser.iterate(
          simdjson::padded_string_view(document.data(), document.size(), document.size() + padding()));
      if (parsed.type() != json::json_type::object)
        fail(Exit::data, "is no JSON object", "fetch the file again");
      work(parsed.get_object());
      if (parsed.current_location().error() != simdjson::OUT_OF_BOUNDS)
        fail(Exit::data, "goes on behind its end", "fetch the file again");
    } catch (const simdjson::simdjson_error& error) {
      fail(Exit::data, text("is damaged or cut short: ", error.what()), "fetch the file again");
    }
  }
};

QaReader::QaReader() : state_(std::make_unique<State>()) {}
QaReader::~QaReader() = default;

std::size_t QaReader::padding() { return simdjson::SIMDJSON_PADDING; }

void QaReader::read_questions(std::string_view document, const std::function<void(const QaQuestion&)>& take) {
  state_->parse(document, [&](json::object root) {
    bool has_questions = false;
    for (auto field : root) {
      const std::string_view key = field.unescaped_key();
      if (key != "questions") continue;
      has_questions = true;
      for (auto entry : field.value().get_array()) take(read_question(entry.get_object()));
    }
    if (!has_questions) fail(Exit::data, "has no questions", "fetch the file again");
  });
}

SceneObjects QaReader::read_scene(std::string_view document, const WantedImage& image,
                                  const Vocabularies& lists) {
  SceneObjects scene;
  const auto read_observation = [&](json::object observation) {
    SceneObject object;
    std::optional<PixelBox> pixels;
    for (auto field : observation) {
      const std::string_view key = field.unescaped_key();
      json::value value = field.value();
      if (key == "regions") object.region = 1 + lists.regions.find(region_of(value));
      if (key == "obs_entities") object.entity = 1 + lists.entities.find(first_word(value));
      if (key == "localization") pixels = box_of(value, image);
    }
    if (pixels) {
      const auto box = box_in(*pixels, image);
      if (box) object.box = *box;
      scene.boxes_outside += box ? 0 : 1;
    }
    scene.objects.push_back(object);
  };
  state_->parse(document, [&](json::object root) {
    for (auto field : root) {
      const std::string_view key = field.unescaped_key();
      if (key != "observations") continue;
      for (auto observation : field.value().get_object()) read_observation(observation.value().get_object());
    }
  });
  return scene;
}

}  // namespace larmor::xray_vqa

#include "workloads/xray_vqa/training/asked.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/pictures/small_picture.h"

#include "workloads/xray_vqa/data/question_facts.h"
#include "workloads/xray_vqa/training/objects_file.h"

namespace larmor::xray_vqa {
namespace {

constexpr double most_of_bytes = 255, most_of_words = 65535;

std::string small_letters(std::string_view words) {
  std::string small(words);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return small;
}

/// Where the texts name none, a question of no type of the head that its words tell.
Head head_asked(const std::map<std::string, std::string, std::less<>>& texts, std::string_view question) {
  const auto given = texts.find("type");
  if (given == texts.end()) return head_of_words(question);
  const auto type = static_cast<std::size_t>(find_question_type(given->second));
  if (question_types()[type].head != Head::none) return question_types()[type].head;
  fail(Exit::usage, text("type=", given->second, " is no type of question that a head answers"),
       "say type=has_finding, where_is_finding, how_severe_is_finding or describe_finding, or leave it out");
}

/// What is known of the scene.
std::vector<SceneObject> objects_asked(const std::map<std::string, std::string, std::less<>>& texts,
                                       const SampleSizes& sizes, const Vocabularies& vocabularies) {
  const auto boxes = texts.find("boxes"), given = texts.find("objects");
  if (boxes != texts.end() && given != texts.end())
    fail(Exit::usage, "boxes and objects say twice what is in the picture", "leave one of them out");
  std::vector<SceneObject> objects;
  if (boxes != texts.end()) objects = objects_in_words(boxes->second);
  if (given != texts.end()) objects = objects_in_json(given->second, vocabularies);
  if (objects.size() > static_cast<std::size_t>(sizes.objects))
    fail(Exit::usage,
         text(given == texts.end() ? "boxes" : "objects", " has ", objects.size(),
              given == texts.end() ? " boxes" : " objects", ", and the network takes ", sizes.objects),
         "leave some out");
  return objects;
}

}  // namespace

Head head_of_words(std::string_view question) {
  const std::string words = small_letters(question);
  const auto begins = [&words](std::string_view start) { return words.starts_with(start); };
  if (begins("where") || begins("on which side") || begins("in which")) return Head::region;
  if (words.find("severe") != std::string::npos || words.find("severity") != std::string::npos ||
      words.find("degree") != std::string::npos)
    return Head::severity;
  constexpr std::array<std::string_view, 14> verbs = {"is ",    "are ", "was ",     "were ", "does ",
                                                      "do ",    "did ", "has ",     "have ", "can ",
                                                      "could ", "any ", "is there", "isn"};
  return std::ranges::any_of(verbs, begins) ? Head::binary : Head::category;
}

Asked asked_of(const std::map<std::string, std::string, std::less<>>& texts, const SampleSizes& sizes,
               const WordPiece& tokenizer, const Vocabularies& vocabularies) {
  const auto question = texts.find("question");
  const auto is_blank = [](unsigned char letter) { return std::isspace(letter) != 0; };
  if (question == texts.end() || std::ranges::all_of(question->second, is_blank))
    fail(Exit::usage, "the question is empty", "say --input question=\"Is there a pleural effusion?\"");
  QuestionFacts facts;
  facts.question = question->second;
  facts.objects = objects_asked(texts, sizes, vocabularies);
  std::vector<Box> given;
  for (const SceneObject& object : facts.objects) given.push_back(object.box);
  Sample made = sample_of(facts, tokenizer, sizes);
  const auto row = [&made](const char* name) { return made.at(name).unsqueeze(0); };
  return {.head = head_asked(texts, question->second),
          .inputs = {.image = {},
                     .tokens = row(sample::tokens),
                     .tokens_mask = row(sample::tokens_mask),
                     .boxes = row(sample::boxes),
                     .regions = row(sample::regions),
                     .entities = row(sample::entities),
                     .objects_mask = row(sample::objects_mask)},
          .boxes = std::move(given)};
}

double white_of(const at::Tensor& picture) {
  const double most = picture.max().item<double>();
  if (most <= 1) return 1;
  return (1 << bits_in_use(static_cast<uint16_t>(std::min(std::ceil(most), most_of_words)))) - 1;
}

at::Tensor radiograph_of(const at::Tensor& picture, int64_t size) {
  const bool is_one =
      picture.dim() == 5 && picture.size(4) == 1 && (picture.size(1) == 1 || picture.size(1) == 3);
  if (!is_one)
    fail(Exit::data, "the image is no picture of grey or of three colours",
         "give a radiograph as JPEG or PNG");
  const at::Tensor rows = picture.squeeze(4).transpose(2, 3).to(at::kCPU);  // [1, C, rows, columns]
  double white = white_of(rows);
  const bool is_whole = white > 1 && at::equal(rows, rows.round());
  at::Tensor seen = rows.to(at::kFloat);
  if (is_whole) {  // as training reads it: the upper eight bits, and bytes are rounded as Pillow rounds them
    seen = (seen * ((most_of_bytes + 1) / (white + 1))).floor().clamp(0, most_of_bytes).to(at::kByte);
    white = most_of_bytes;
  }
  const at::Tensor resized = at::_upsample_bilinear2d_aa(seen, {size, size}, /*align_corners=*/false);
  const auto per_colour = [](const float(&values)[3]) {
    return at::tensor({values[0], values[1], values[2]}, at::kFloat).view({1, 3, 1, 1});
  };
  const at::Tensor colours = (resized.to(at::kFloat) / white).expand({1, 3, size, size});
  return (colours - per_colour(imagenet_mean)) / per_colour(imagenet_deviation);
}

}  // namespace larmor::xray_vqa

#include "workloads/xray_vqa/training/asked.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/formats/volume.h"

#include "workloads/xray_vqa/data/phantom_questions.h"
#include "workloads/xray_vqa/data/question_data.h"
#include "workloads/xray_vqa/data/xray_phantom.h"

#include "tests/support/picture_files.h"

namespace larmor::xray_vqa {
namespace {

TEST(Asked, FindsTheHeadByTheQuestionsWords) {
  EXPECT_EQ(head_of_words("Is there a pleural effusion?"), Head::binary);
  EXPECT_EQ(head_of_words("does the heart look normal?"), Head::binary);
  EXPECT_EQ(head_of_words("Where is the lesion?"), Head::region);
  EXPECT_EQ(head_of_words("On which side is the device?"), Head::region);
  EXPECT_EQ(head_of_words("How severe is the edema?"), Head::severity);
  EXPECT_EQ(head_of_words("What is the degree of the edema?"), Head::severity);
  EXPECT_EQ(head_of_words("Describe the left lung."), Head::category);
}

TEST(Asked, TakesTypeAndBoxesFromWords) {
  const WordPiece tokenizer(phantom_words());
  const SampleSizes sizes{.image = 64, .question = 16, .objects = 3};
  const Asked asked = asked_of({{"question", "Is there cardiomegaly?"},
                                {"type", "how_severe_is_finding"},
                                {"boxes", "0.1 0.2 0.5 0.9; 0.4 0.1 0.9 0.95"}},
                               sizes, tokenizer, phantom_vocabularies());
  EXPECT_EQ(asked.head, Head::severity);
  EXPECT_EQ(asked.inputs.tokens.sizes().vec(), (std::vector<int64_t>{1, 16}));
  EXPECT_EQ(asked.inputs.objects_mask.sum().item<int64_t>(), 2);
  EXPECT_NEAR(asked.inputs.boxes[0][1][3].item<double>(), 0.95, 1e-6);
  const auto refused = [&](const std::map<std::string, std::string, std::less<>>& texts) {
    EXPECT_THROW(asked_of(texts, sizes, tokenizer, phantom_vocabularies()), Error);
  };
  refused({{"question", " \t"}});
  refused({});
  refused({{"question", "Is it?"}, {"type", "who_is_it"}});
  for (const char* boxes : {"0.1 0.2 0.5", "0.5 0.2 0.1 0.9", "0 0 1 1.5", "0 0 1 1 1", "here"})
    refused({{"question", "Is it?"}, {"boxes", boxes}});
}

TEST(Asked, TakesAScenesObjectsWithTheirNames) {
  const WordPiece tokenizer(phantom_words());
  const SampleSizes sizes{.image = 64, .question = 16, .objects = 2};
  const Vocabularies names{.regions = NameList({"right lung", "left lung"}),
                           .entities = NameList({"effusion"})};
  const auto ask = [&](const std::string& objects) {
    return asked_of({{"question", "Where is it?"}, {"objects", objects}}, sizes, tokenizer, names);
  };
  const Asked asked =
      ask(R"({"objects": [{"box": [0.5, 0, 1, 0.75], "region": "Left lung", "entity": "effusion"}, {}]})");
  EXPECT_EQ(asked.inputs.regions[0][0].item<int64_t>(), 2);
  EXPECT_EQ(asked.inputs.entities[0][0].item<int64_t>(), 1);
  EXPECT_EQ(asked.inputs.boxes[0][0][3].item<double>(), 0.75);
  EXPECT_EQ(asked.inputs.regions[0][1].item<int64_t>(), 0);
  EXPECT_EQ(asked.inputs.boxes[0][1][2].item<double>(), 1);
  EXPECT_EQ(asked.inputs.objects_mask.sum().item<int64_t>(), 2);
  EXPECT_EQ(asked.boxes.size(), 2U);
  for (const char* const objects :
       {"", "[]", "{", R"({"objects": []})", R"({"objects": [1]})", R"({"objects": [{"box": [0, 0, 1]}]})",
        R"({"objects": [{"box": [0.5, 0, 0.5, 1]}]})", R"({"objects": [{"region": "left lnug"}]})",
        R"({"objects": [{"entity": 1}]})", R"({"objects": [{"where": "here"}]})",
        R"({"objects": [{}, {}, {}]})"})
    EXPECT_THROW(ask(objects), Error) << objects;
  EXPECT_THROW(asked_of({{"question", "Is it?"}, {"boxes", "0 0 1 1"}, {"objects", R"({"objects": [{}]})"}},
                        sizes, tokenizer, names),
               Error)
      << "twice";
}

TEST(Asked, MakesAnImageOfAPicture) {
  const at::Tensor bytes = at::arange(8 * 6).view({1, 1, 8, 6, 1}).to(at::kFloat) * 5;  // 8 columns, 6 rows
  const at::Tensor image = radiograph_of(bytes, 16);
  EXPECT_EQ(image.sizes().vec(), (std::vector<int64_t>{1, 3, 16, 16}));
  // Down a column values rise slowly, along a row fast.
  EXPECT_GT((image[0][0][0][15] - image[0][0][0][0]).item<float>(),
            (image[0][0][15][0] - image[0][0][0][0]).item<float>());
  // Bytes are rounded after each of two passes, which numbers in [0, 1] are not.
  constexpr float two_roundings = 1.0F / 255 / 0.224F;
  EXPECT_LE((image - radiograph_of(bytes / 255, 16)).abs().max().item<float>(), two_roundings);
  EXPECT_LE((image - radiograph_of(bytes.expand({1, 3, 8, 6, 1}), 16)).abs().max().item<float>(), 1e-5);
  EXPECT_THROW(radiograph_of(at::zeros({1, 1, 8, 8, 8}), 16), Error);
}

/// Of 8, 12 and 16 bits, the brightest pixel among them.
TEST(Asked, SeesAPictureAsTrainingReadsIt) {
  const ScratchFolder scratch;
  DiskStorage storage;
  for (const int step : {1, 16, 256}) {
    std::vector<uint16_t> pixels;
    for (int i = 0; i < 48 * 40; ++i)
      pixels.push_back(static_cast<uint16_t>(i * 37 % 256 * step + (step > 1 ? i % step : 0)));
    const auto file = scratch.path() / "film.png";
    write_text(storage, file, testing::png_of(48, 40, testing::PngKind::grey, step == 1 ? 8 : 16, pixels));
    const SampleSizes sizes{.image = 24, .question = 16, .objects = 3};
    const at::Tensor learnt = read_image(file, sizes).image;
    const at::Tensor asked = radiograph_of(read_volume(file).voxels.unsqueeze(0), 24)[0];
    EXPECT_LE((learnt - asked).abs().max().item<float>(), 1e-5) << step;
    EXPECT_GT(asked.max().item<float>(), 0) << step << ": a film is no darker in words of 16 bits";
  }
}

}  // namespace
}  // namespace larmor::xray_vqa

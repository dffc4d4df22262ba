// `init`: a config for the data of a folder, which trains as it is.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/image.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr int usage = 2, data = 3, environment = 4;

/// A body of water with lungs of air in it, in Hounsfield units: a file of 64³ voxels of 5 mm.
std::string chest_bytes(int number) {
  constexpr int64_t size = 64;
  auto bytes = nifti_bytes({.size = {size, size, size}, .spacing = 5, .voxels = 0, .number = number});
  const auto squared = [](double value, double half) { return (value / half) * (value / half); };
  for (int64_t z = 0; z < size; ++z) {
    for (int64_t y = 0; y < size; ++y) {
      for (int64_t x = 0; x < size; ++x) {
        const double right = static_cast<double>(x) - 31.5, front = static_cast<double>(y) - 31.5;
        const bool in_body = squared(right, 26) + squared(front, 18) < 1;
        const bool in_lung = squared(std::abs(right) - 11, 8 - number) + squared(front, 12) < 1;
        const float value = in_lung ? -800.0F : in_body ? 20.0F : -1000.0F;
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
  }
  return bytes;
}

std::string grey_png(int number) {
  Image image{.width = 48, .height = 40, .channels = 3, .pixels = std::vector<uint8_t>(48 * 40 * 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<uint8_t>(i / 30 + static_cast<std::size_t>(number));
  return encode_png(image);
}

class Init : public ::testing::Test {
 protected:
  fs::path folder() const { return scratch_.path(); }
  Finished call(Words words) const { return larmor_program(std::move(words), {.folder = folder()}); }
  /// The command that init has printed, typed into a shell, with more words behind it.
  Finished typed(const Finished& said, const std::string& more) const {
    const auto command = said.json()["command"].get<std::string>();
    EXPECT_EQ(command.substr(0, 7), "larmor ");
    const auto larmor = larmor_program({"--version"}).status == 0 ? "\"$LARMOR_PROGRAM\" " : "";
    return larmor_program({"-c", text(larmor, command.substr(7), " ", more)},
                          {.folder = folder(), .program = "/bin/sh"});
  }
  void put_modalities(const std::string& place) const {
    for (int head = 0; head < 4; ++head) {
      for (const auto* modality : {"t1n", "t1c", "t2w", "t2f"})
        put_file(folder() / place / text("head", head) / text("head", head, "-", modality, ".nii"),
                 nifti_bytes({.size = {20, 20, 20}, .voxels = 8000, .number = head}));
    }
  }
  void put_survivors(const std::string& place) const {
    std::string table = "NIFTI path,time,event\n";
    for (int i = 0; i < 10; ++i) {
      put_file(folder() / place / text(i, ".nii"), nifti_bytes({.number = i}));
      table += text(i, ".nii,", 200 + 100 * i, ",", i % 4 == 0 ? 0 : 1, "\n");
    }
    put_file(folder() / place / "cohort.csv", table);
  }
  void put_questions(const std::string& place) const {
    std::string table = "image,question,answer,patient\n";
    for (int i = 0; i < 8; ++i) {
      put_file(folder() / place / text(i, ".png"), grey_png(i));
      table += text(i, ".png,Is there an effusion?,", i % 2 == 0 ? "yes" : "no", ",p", i, "\n");
    }
    put_file(folder() / place / "questions.csv", table);
    put_file(folder() / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nis\nthere\nan\neffusion\n?\n");
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(Init, OfHeadsWritesAConfigThatTrainsAsItIs) {
  put_heads(folder() / "my heads", 6);
  const auto said = call({"init", "latent_diffusion", "my heads", "--output", "it's mine.yaml", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  const auto yaml = read_text(folder() / "it's mine.yaml");
  EXPECT_THAT(yaml,
              AllOf(HasSubstr("kind: nifti  # "), HasSubstr("micro_batch: "), HasSubstr("# On GPUs: ")));
  EXPECT_EQ(said.json()["data"]["patients"], 6);
  const auto end = typed(said, "--steps 2 run.name=first");
  ASSERT_EQ(end.status, 0) << end.err;
  // The next stage says what comes first, and builds on it.
  const Words next{"init", "latent_diffusion", "my heads", "--stage", "diffusion", "--json"};
  EXPECT_EQ(call(next).status, usage);
  EXPECT_THAT(call(next).err, HasSubstr("builds on a run of the stage autoencoder"));
  auto with = next;
  with.emplace_back("from.autoencoder=first");
  const auto second = call(with);
  ASSERT_EQ(second.status, 0) << second.err;
  const auto diffusion = typed(second, "--steps 2");
  EXPECT_EQ(diffusion.status, 0) << diffusion.err;
}

TEST_F(Init, OfModalitiesWritesAConfigThatTrainsAsItIs) {
  put_modalities("heads");
  const auto said = call({"init", "fast_ddpm", "heads", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_EQ(said.json()["output"], "fast_ddpm.yaml");
  const auto end = typed(said, "--steps 2");
  EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(Init, OfATableOfPatientsWritesAConfigThatTrainsAsItIs) {
  put_survivors("cohort");
  EXPECT_THAT(call({"init", "survival", "cohort"}).err, HasSubstr("say data.split.by=file if each case"));
  const auto said = call({"init", "survival", "cohort", "data.split.by=file", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(read_text(folder() / "survival.yaml"), HasSubstr("cohort.csv"));
  const auto end = typed(said, "--steps 2");
  EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(Init, OfPairsWritesAConfigThatTrainsAsItIs) {
  for (int i = 0; i < 3; ++i) put_file(folder() / "scans" / text("ct", i, ".nii"), chest_bytes(i));
  const auto early = call({"init", "xray_to_ct", "scans"});
  EXPECT_EQ(early.status, data);
  EXPECT_THAT(early.err, HasSubstr("larmor prepare xray_to_ct data.ct="));
  const auto pairs = call({"prepare", "xray_to_ct", "data.ct=scans", "data.folder=pairs", "-c", "small"});
  ASSERT_EQ(pairs.status, 0) << pairs.err;
  const auto said = call({"init", "xray_to_ct", "pairs", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  const auto end = typed(said, "--steps 2");
  EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(Init, OfQuestionsWritesAConfigThatTrainsAsItIs) {
  put_questions("cxr");
  const auto said = call({"init", "xray_vqa", "cxr", "data.vocabulary=vocab.txt", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  const auto end = typed(said, "--steps 2");
  EXPECT_EQ(end.status, 0) << end.err;
}

TEST_F(Init, IsShortAndSaysOfEachValueWhy) {
  put_heads(folder() / "heads", 6);
  ASSERT_EQ(call({"init", "latent_diffusion", "heads", "--output", "a.yaml"}).status, 0);
  int values = 0, transforms = 0;
  std::string before;
  for (const auto& line : split(read_text(folder() / "a.yaml"), '\n')) {
    const bool is_comment = line.starts_with('#'), is_step = line.starts_with("    - ");
    if (!line.empty() && !is_comment && !line.ends_with(':') && !is_step) {
      ++values;
      const bool is_said = line.find("  # ") != std::string::npos || before.starts_with('#');
      EXPECT_TRUE(is_said || line.find("every: ") != std::string::npos ||
                  line.find("_every: ") != std::string::npos ||
                  line.find("global_batch: ") != std::string::npos)
          << line;
    }
    transforms += is_step ? 1 : 0;
    before = line;
  }
  EXPECT_LE(values, 13);
  EXPECT_LE(transforms, 5);
}

TEST_F(Init, RefusesWhatItCannotDoAndWritesNothing) {
  put_heads(folder() / "heads", 2);
  put_file(folder() / "papers" / "a.pdf", "%PDF");
  fs::create_directories(folder() / "empty");
  put_file(folder() / "there.yaml", "mine");
  const auto expect = [&](const Words& words, int status, const std::string& said) {
    const auto end = call(words);
    EXPECT_EQ(end.status, status) << join(words, " ") << '\n' << end.err;
    EXPECT_THAT(end.err, AllOf(HasSubstr(said), HasSubstr("hint: "))) << join(words, " ");
  };
  expect({"init"}, usage, "no workload was named");
  expect({"init", "survival"}, usage, "init takes a workload and the folder");
  expect({"init", "survivl", "heads"}, usage, "did you mean survival?");
  expect({"init", "latent_diffusion", "heads", "--stage", "autoencder"}, usage, "did you mean autoencoder?");
  expect({"init", "latent_diffusion", "nowhere"}, data, "there is no folder nowhere");
  expect({"init", "latent_diffusion", "papers"}, data, "1 .pdf");
  expect({"init", "latent_diffusion", "empty"}, data, "no file at all");
  expect({"init", "survival", "heads"}, data, "no table lies in it");
  expect({"init", "fast_ddpm", "heads"}, data, "");
  expect({"init", "latent_diffusion", "heads", "--output", "there.yaml"}, usage, "is there already");
  expect({"init", "latent_diffusion", "heads", "--output", "no/where.yaml"}, environment, "no/where.yaml");
  expect({"init", "latent_diffusion", "heads", "train.length=1ep"}, usage,
         "takes keys of data, from and parallel");
  expect({"init", "latent_diffusion", "heads", "-c", "tinny"}, usage, "did you mean tiny?");
  EXPECT_EQ(read_text(folder() / "there.yaml"), "mine");
  EXPECT_FALSE(fs::exists(folder() / "latent_diffusion-autoencoder.yaml"));
}

TEST_F(Init, TakesAnotherShippedConfigWhereItIsTold) {
  put_heads(folder() / "heads", 6);
  const auto said = call({"init", "latent_diffusion", "heads", "-c", "tiny", "--output", "tiny", "--json"});
  ASSERT_EQ(said.status, 0) << said.err;
  EXPECT_THAT(read_text(folder() / "tiny"), Not(HasSubstr("phantom")));
  EXPECT_EQ(said.json()["command"], "larmor train latent_diffusion -c ./tiny");
}

}  // namespace
}  // namespace larmor::testing

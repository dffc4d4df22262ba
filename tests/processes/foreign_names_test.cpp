// Names that others chose, in files, tables, manifests and on the command line: whatever they hold, no
// terminal and no log gets a character that moves a cursor, breaks a line or turns the text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/hash.h"
#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* forged_line = "larmor: all is well";

/// What a name can hold of everything that a terminal obeys: C0 with a line of ours behind a break, DEL, C1
/// as UTF-8 and as a byte, a mark of direction, and bytes that are no UTF-8.
std::string foreign_name() {
  return "a\n" + std::string(forged_line) + "\r\t\x1b]0;owned\x07\x1b[2J\x08\x7f\xc2\x9b" + "31m\x9b" +
         "1m\xe2\x80\xae" + "gpj\xe2\x80\xa8\xff\xc3";
}

/// The bytes of `shown` that a terminal would obey, or not be able to show, said in words.
std::string obeyed_in(const std::string& shown) {
  std::string found;
  const auto byte = [&](size_t i) { return i < shown.size() ? static_cast<unsigned char>(shown[i]) : 0U; };
  for (size_t i = 0; i < shown.size(); ++i) {
    if ((byte(i) < 0x20 && byte(i) != '\n') || byte(i) == 0x7f)
      found += text("control ", int{shown[i]}, "; ");
    if (byte(i) == 0xc2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xa0) found += "C1; ";
    if (byte(i) == 0x9b && (i == 0 || byte(i - 1) != 0xc2) && (i == 0 || byte(i - 1) < 0x80))
      found += "Latin-1 CSI; ";
    if (byte(i) == 0xe2 && byte(i + 1) == 0x80 && byte(i + 2) >= 0xa8 && byte(i + 2) <= 0xae)
      found += "turned text; ";
    if (byte(i) == 0xff) found += "no UTF-8; ";
  }
  return found;
}

void expect_harmless(const Finished& end, const std::string& what) {
  for (const auto& shown : {end.out, end.err}) {
    EXPECT_EQ(obeyed_in(shown), "") << what << ":\n" << shown;
    EXPECT_THAT("\n" + shown, Not(HasSubstr(text("\n", forged_line)))) << what;
    for (const auto& line : split(shown, '\n')) EXPECT_LT(line.size(), 16'000U) << what;
  }
}

/// A zip archive of one stored file, its name as given, its check sum wrong.
std::string zip_with(const std::string& name) {
  const auto number = [](uint32_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xffU);
    return out;
  };
  const std::string bytes = "data";
  const auto length = static_cast<uint32_t>(name.size());
  const std::string sizes = number(1, 4) + number(4, 4) + number(4, 4) + number(length, 2);
  const std::string local = "PK\x03\x04" + number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                            sizes + number(0, 2) + name + bytes;
  const std::string central = "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 2) + number(0, 2) +
                              number(0, 4) + sizes + number(0, 2) + number(0, 8) + number(0, 4) +
                              number(0, 4) + name;
  return local + central + "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(static_cast<uint32_t>(central.size()), 4) + number(static_cast<uint32_t>(local.size()), 4) +
         number(0, 2);
}

std::string sealed(Json manifest) {
  manifest["self"] = "";
  manifest["self"] = sha256(to_text(manifest));
  return to_text(manifest);
}

class ForeignNames : public TrainedRun {};

TEST_F(ForeignNames, OfFilesAreShownEscaped) {
  const std::string name = foreign_name();
  put_file(folder() / (name + ".nii"), nifti_bytes());
  put_file(folder() / (name + "2.nii"), nifti_bytes().substr(0, 400));
  put_file(folder() / "zip.npz", zip_with(name + ".npy"));
  for (const auto& file : {name + ".nii", name + "2.nii", name + "3.nii", std::string("zip.npz")}) {
    expect_harmless(call({"inspect", file}), "inspect " + file);
    const auto json = call({"inspect", file, "--json"});
    expect_harmless(json, "inspect --json " + file);
    EXPECT_TRUE(Json::accept(json.out)) << json.out;
  }
  const auto good = call({"inspect", name + ".nii", "--json"}).json();
  EXPECT_THAT(good.at(0).at("path").get<std::string>(), HasSubstr("\n" + std::string(forged_line)));
}

TEST_F(ForeignNames, OnTheCommandLineAreShownEscaped) {
  const std::string name = foreign_name();
  const std::vector<std::vector<std::string>> all{
      {name},
      {"train", name},
      {"train", "latent_diffusion", name + "=1"},
      {"train", "latent_diffusion", "-c", name},
      {"train", "latent_diffusion", "-c", "tiny", "run.name=" + name},
      {"train", "latent_diffusion", "--" + name},
      {"plan", "latent_diffusion", "-c", "tiny", "run.folder=" + name},
      {"plan", "latent_diffusion", "-c", "tiny", "train.precision=" + name},
      {"config", "show", "latent_diffusion", "-c", "tiny", "run.folder=" + name},
      {"config", "explain", "latent_diffusion", "-c", "tiny", "run.folder=" + name},
      {"predict", "latent_diffusion", "--input", name, "--output", name, "--weights", name},
      {"job", "shell", "latent_diffusion", "-c", "tiny", "--nodes", "2", "--master", name},
      {"job", "shell", "latent_diffusion", "-c", "tiny", "--nodes", "2", "--master", "a",
       "run.folder=" + name},
      {"launch", "--", name},
  };
  for (const auto& words : all) expect_harmless(call(words), join(words, " "));
  put_file(folder() / (name + ".yaml"), "run: {folder: here}\n");
  const auto shown = call({"config", "show", "latent_diffusion", "-c", "tiny", "-c", name + ".yaml"});
  expect_harmless(shown, "config show");
  put_file(folder() / "shown.yaml", shown.out);
  EXPECT_EQ(call({"config", "show", "latent_diffusion", "-c", "shown.yaml"}).status, 0);
}

TEST_F(ForeignNames, OfTheDataAreShownEscaped) {
  const std::string name = foreign_name();
  const auto train = [](const std::string& kind, const std::string& place,
                        const std::string& more = "data.bad_files=0") {
    return call(
        {"train", "latent_diffusion", "-c", "tiny", "--ranks", "1", "data.kind=" + kind, place, more});
  };
  put_file(folder() / "heads" / name / "t1.nii", "no image");
  put_file(folder() / "heads" / "b" / (name + ".nii"), nifti_bytes({.voxels = 100}));
  expect_harmless(train("nifti", "data.folder=heads"), "a folder of broken images");
  expect_harmless(call({"prepare", "latent_diffusion", "-c", "tiny", "data.kind=nifti", "data.folder=heads"}),
                  "prepare");
  put_file(folder() / "names.csv", "image,patient,\"" + name + "\"\n\"" + name + "\",p,q\n");
  expect_harmless(train("list", "data.list=names.csv"), "a table with odd names");
  put_file(folder() / "table.csv", "image,time,event\n\"" + name + "\",\"" + name + "\",x\n");
  expect_harmless(
      call({"train", "survival", "-c", "tiny", "--ranks", "1", "data.kind=list", "data.list=table.csv"}),
      "odd cells");
  put_file(folder() / "odd.yaml", "train: {\"" + std::string("\\e]0;x\\a\\n") + forged_line + "\": 1}\n");
  expect_harmless(call({"plan", "latent_diffusion", "-c", "odd.yaml"}), "a key of a config");
}

TEST_F(ForeignNames, OfATableWithManyColumnsDoNotFillTheScreen) {
  std::string header = "x";
  for (int i = 0; i < 300'000; ++i) header += text(",c", i);
  put_file(folder() / "wide.csv", header + "\n" + header + "\n");
  const auto end = call(
      {"train", "latent_diffusion", "-c", "tiny", "--ranks", "1", "data.kind=list", "data.list=wide.csv"});
  EXPECT_NE(end.status, 0);
  EXPECT_LT(end.err.size(), 20'000U);
}

TEST_F(ForeignNames, OfCheckpointsAreShownEscaped) {
  const auto copy = copy_of_run("odd");
  fs::path newest;
  for (const auto& item : fs::directory_iterator(copy / "checkpoints")) {
    if (!item.is_symlink() && item.path().filename() > newest.filename()) newest = item.path();
  }
  const auto manifest_file = newest / "manifest.json";
  const Json whole = read_json(manifest_file);
  const auto spoilt = [&](const std::function<void(Json&)>& change) {
    Json manifest = whole;
    change(manifest);
    put_file(manifest_file, sealed(manifest));
    for (const char* verb : {"list", "verify"}) {
      expect_harmless(call({"checkpoint", verb, "odd"}), text("checkpoint ", verb));
      const auto json = call({"checkpoint", verb, "odd", "--json"});
      expect_harmless(json, text("checkpoint --json ", verb));
      EXPECT_TRUE(Json::accept(json.out)) << json.out;
    }
    expect_harmless(call({"train", "odd", "--steps", "12"}), "train of a run with a damaged checkpoint");
  };
  const std::string name = "b\n" + std::string(forged_line) + "\x1b[2J\x07\xc2\x9b" + "31m\xe2\x80\xae";
  spoilt([&](Json& manifest) { manifest["files"][0]["name"] = name; });
  spoilt([&](Json& manifest) { manifest["files"][0]["sha256"] = name; });
  spoilt([&](Json& manifest) { manifest["format"] = name; });
  spoilt([&](Json& manifest) { manifest[name] = name; });
  put_file(manifest_file, "{\"" + name + "\": ");
  expect_harmless(call({"checkpoint", "verify", "odd"}), "a manifest that is no JSON");
  fs::rename(newest, copy / "checkpoints" / ("step-" + foreign_name()));
  expect_harmless(call({"checkpoint", "verify", "odd"}), "a folder with an odd name");
}

}  // namespace
}  // namespace larmor::testing

// Names, words of headers and secrets as markers: after every verb they are found where docs/patient_data.md
// says, and nowhere else.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>

#include <fnmatch.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/program_run.h"
#include "tests/support/dicom_files.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::IsEmpty;

enum class Marked { name, header_text, dicom_tag, secret };

struct Marker {
  std::string word;
  Marked what;
};
const std::vector<Marker> markers{
    {"canarypatient", Marked::name},        {"canaryfile", Marked::name},
    {"canarydescrip", Marked::header_text}, {"canaryintent", Marked::header_text},
    {"canaryaux", Marked::header_text},     {"canarytag", Marked::dicom_tag},
    {"1.2.826.0.1.777", Marked::dicom_tag}, {"canarysecret", Marked::secret}};

/// What the page's table says of the places that fit these patterns.
struct Row {
  std::vector<std::string> places;
  bool names = false, header_text = false;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream rest(line.substr(1));
  for (std::string cell; std::getline(rest, cell, '|');) cells.emplace_back(trim(cell));
  return cells;
}

std::vector<Row> table_of(const fs::path& page) {
  std::vector<Row> rows;
  std::istringstream lines(read_text(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    const auto cells = cells_of(line);
    Row row{.names = !cells.at(1).empty(), .header_text = !cells.at(2).empty()};
    for (std::size_t begin = cells[0].find('`'); begin != std::string::npos;) {
      const auto end = cells[0].find('`', begin + 1);
      row.places.push_back(cells[0].substr(begin + 1, end - begin - 1));
      begin = cells[0].find('`', end + 1);
    }
    rows.push_back(row);
  }
  return rows;
}

/// The markers that these bytes hold, whatever their case, packed by gzip or two bytes a letter.
std::set<std::string> markers_in(std::string bytes) {
  if (bytes.starts_with("\x1f\x8b")) bytes = unpacked(bytes);
  std::string letters;
  for (const char letter : bytes) {
    if (letter != '\0') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  std::set<std::string> found;
  for (const auto& marker : markers) {
    if (letters.find(marker.word) != std::string::npos) found.insert(marker.word);
  }
  return found;
}

class Canary : public ::testing::Test {
 protected:
  static constexpr int patients = 6;

  fs::path folder() const { return scratch_.path(); }

  /// Runs a verb that has to end well; what it prints counts as SCREEN.
  void call(const std::vector<std::string>& words) {
    SCOPED_TRACE(join(words, " "));
    const auto end = larmor_program(words, {.folder = folder(),
                                            .environment = {{"XDG_CACHE_HOME", (folder() / "cache").string()},
                                                            {"HOME", (folder() / "home").string()},
                                                            {"AWS_SECRET_ACCESS_KEY", "CANARYSECRET"},
                                                            {"WANDB_API_KEY", "CANARYSECRET"},
                                                            {"MLFLOW_TRACKING_PASSWORD", "CANARYSECRET"},
                                                            {"OF_SOMEBODY", "CANARYSECRET"}}});
    EXPECT_EQ(end.status, 0) << end.err;
    for (const auto& marker : markers_in(end.out + end.err)) found_["SCREEN"].insert(marker);
  }

  static fs::path head(int patient) {
    return fs::path("heads") / text("CANARYPATIENT", patient) / text("CANARYFILE", patient, ".nii.gz");
  }
  void put_marked_heads() const {
    fs::create_directories(folder() / "out");
    for (int patient = 0; patient < patients; ++patient) {
      const float spacing = 1 + 0.01F * static_cast<float>(patient);  // no two files are the same
      std::string bytes = nifti_bytes({.size = {24, 24, 24}, .spacing = spacing, .voxels = 24 * 24 * 24});
      bytes.replace(148, 13, "CANARYDESCRIP").replace(228, 9, "CANARYAUX").replace(328, 12, "CANARYINTENT");
      // Of the last one no voxel is a number.
      if (patient == patients - 1) std::fill(bytes.begin() + 352, bytes.end(), '\xff');
      put_file(folder() / head(patient), gzipped(bytes));
    }
  }
  void put_marked_scans() const {
    constexpr int side = 16;
    for (int patient = 0; patient < patients; ++patient) {
      for (int slice = 0; slice < side; ++slice) {
        std::vector<int> pixels(side * side);
        std::iota(pixels.begin(), pixels.end(), 10 * patient + slice);
        DicomBytes file;
        file.put_short(0x00280010, side).put_short(0x00280011, side).pixels_of(pixels).place(0, 0, slice);
        for (const uint32_t tag : {0x00100010U, 0x00081030U, 0x00080080U, 0x00080090U, 0x0008103eU})
          file.put(tag, tag == 0x00080090U || tag == 0x00100010U ? "PN" : "LO", "CANARYTAG");
        for (const uint32_t tag : {0x00080018U, 0x0020000dU, 0x0020000eU})
          file.put(tag, "UI", text("1.2.826.0.1.777.", patient, tag == 0x00080018U ? text('.', slice) : ""));
        put_file(folder() / "scans" / text('p', patient) / text(slice, ".dcm"), file.whole());
      }
    }
  }
  /// Looks through all files that the verbs have written.
  void look_around() {
    for (const auto& [below, name] : std::map<std::string, std::string>{{"runs/heads", "RUN"},
                                                                        {"runs/scans", "RUN"},
                                                                        {"cache/larmor", "CACHE"},
                                                                        {"out", "OUTPUT"},
                                                                        {"home", "HOME"}}) {
      if (!fs::exists(folder() / below)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(folder() / below)) {
        if (entry.is_symlink() || !entry.is_regular_file()) continue;
        const auto place = name / fs::relative(entry.path(), folder() / below);
        auto in_file = markers_in(read_text(entry.path()));
        in_file.merge(markers_in(place.string()));
        if (!in_file.empty()) found_[place.string()].merge(in_file);
      }
    }
  }
  std::map<std::string, std::set<std::string>> found_;  // by place

 private:
  ScratchFolder scratch_;
};

bool may_hold(const std::vector<Row>& rows, const std::string& place, Marked what) {
  return std::ranges::any_of(rows, [&](const Row& row) {
    const bool says_so = what == Marked::name ? row.names : what == Marked::header_text && row.header_text;
    return says_so && std::ranges::any_of(row.places, [&](const std::string& pattern) {
             return ::fnmatch(pattern.c_str(), place.c_str(), 0) == 0;
           });
  });
}

TEST_F(Canary, IsFoundOnlyWhereThePageOnPatientDataSaysSo) {
  put_marked_heads();
  put_marked_scans();
  const std::vector<std::string> data{"latent_diffusion",
                                      "-c",
                                      "tiny",
                                      "data.kind=nifti",
                                      "data.folder=heads",
                                      "data.bad_files=1",
                                      "data.split.val=[CANARYPATIENT3]",
                                      "data.split.test=0"};
  const auto of_heads = [&](std::vector<std::string> words, const std::vector<std::string>& more = {}) {
    words.insert(words.end(), data.begin(), data.end());
    words.insert(words.end(), more.begin(), more.end());
    call(words);
  };
  const std::vector<std::string> short_run{"train.length=4st",         "train.validate_every=2st",
                                           "checkpoint.every=2st",     "optim.schedule.warmup=0",
                                           "track.pictures_every=2st", "--verbose"};
  const auto given_name = [&](const std::string& name) {
    auto words = short_run;
    words.push_back("run.name=" + name);
    return words;
  };
  of_heads({"plan"});
  of_heads({"train"}, given_name("heads"));
  call({"evaluate", "heads", "--output", "out/figures"});
  call({"report", "heads", "--output", "out/report.html"});
  call({"predict", "heads", "--input", head(0).string(), "--output", "out/rebuilt.nii.gz"});
  call({"inspect", head(0).string(), "--convert", "out/converted.nii"});
  call({"export", "heads", "--output", "out/weights.safetensors"});
  call({"sync", "heads", "--to", "mlflow", "--dry-run", "track.mlflow.uri=http://127.0.0.1:9"});
  call({"runs"});
  call({"doctor"});
  std::vector<std::string> of_scans{
      "train", "latent_diffusion", "-c", "tiny", "data.kind=dicom", "data.folder=scans", "data.cache=full"};
  for (const auto& word : given_name("scans")) of_scans.push_back(word);
  call(of_scans);
  EXPECT_EQ(found_["SCREEN"].count("1.2.826.0.1.777"), 0U);
  look_around();
  const auto rows = table_of(fs::path(std::getenv("LARMOR_SOURCE")) / "docs" / "patient_data.md");
  for (const auto& [place, words] : found_) {
    for (const auto& word : words) {
      const auto marker = std::ranges::find(markers, word, &Marker::word);
      EXPECT_TRUE(may_hold(rows, place, marker->what)) << word << " in " << place;
    }
  }
  // The markers are there where the page says so, or nothing was looked for.
  for (const auto* place : {"RUN/index.json", "RUN/events.jsonl", "RUN/quarantine.json", "RUN/config.yaml",
                            "RUN/pictures/evaluate-val/figures.json", "OUTPUT/figures/cases.csv", "SCREEN"})
    EXPECT_THAT(found_[place], Contains("canarypatient")) << place;
  EXPECT_THAT(found_["OUTPUT/rebuilt.nii.gz"], IsEmpty());
}

TEST_F(Canary, IsKeptInAHeaderThatIsAskedFor) {
  put_marked_heads();
  call({"inspect", head(0).string(), "--convert", "out/converted.nii.gz", "--keep-header-text"});
  look_around();
  EXPECT_THAT(found_["OUTPUT/converted.nii.gz"],
              ::testing::ElementsAre("canaryaux", "canarydescrip", "canaryintent"));
}

}  // namespace
}  // namespace larmor::testing

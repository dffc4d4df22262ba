#include "larmor/report/run_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/storage.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DocumentOfARun : public ::testing::Test {
 protected:
  void put(const std::filesystem::path& file, const std::string& content) {
    disk_.create_folders(file.parent_path());
    write_text(disk_, file, content);
  }
  void put(const std::filesystem::path& file, const Json& content) { put(file, content.dump()); }
  RunFolder folder() const { return {scratch_.path() / "run"}; }

 private:
  DiskStorage disk_;
  ScratchFolder scratch_;
};

TEST_F(DocumentOfARun, SaysWhatRanOnWhatAndWhy) {
  put(folder().config(), std::string("run:\n  seed: 7  # command line\n"));
  put(folder().environment(), {{"workload", "survival"},
                               {"stage", "resnet"},
                               {"program", "larmor 0.1.0"},
                               {"config", {"run.seed=7", "checkpoint.metric=val/c_index"}}});
  put(folder().hardware(), {{"cpu_name", "A CPU"}, {"cores", {0, 1}}, {"gpus", {{{"name", "A GPU"}}}}});
  put(folder().plan(), {{"reasons", {"Device cpu: so."}}});
  const auto document = document_of(folder(), 0);
  EXPECT_EQ(document["name"], "run");
  EXPECT_EQ(document["workload"], "survival");
  EXPECT_EQ(document["state"], "unfinished");
  EXPECT_EQ(document["metric"], "val/c_index");
  EXPECT_EQ(document["keys"]["run.seed"], "7");
  EXPECT_EQ(document["machine"], Json::parse(R"([["CPU", "A CPU, 2 cores"], ["GPU", "A GPU"]])"));
  EXPECT_EQ(document["plan"][0], "Device cpu: so.");
  EXPECT_THAT(document["config"].get<std::string>(), HasSubstr("# command line"));
}

TEST_F(DocumentOfARun, AccountsForTheDataWithoutANameOfAFileOrPatient) {
  put(folder().index(), {{"kind", "nifti"},
                         {"cases",
                          {{{"patient", "Miller"}, {"split", "train"}},
                           {{"patient", "Miller"}, {"split", "train"}},
                           {{"patient", "Smith"}, {"split", "val"}}}},
                         {"bad", {{{"path", "Brown.nii"}, {"reason", "is cut off"}}}}});
  put(folder().quarantine(), Json::array({{{"path", "Jones.nii"}, {"reason", "is no volume"}}}));
  put(folder().figures("val"),
      {{"split", "val"},
       {"bad", {{{"path", "Brown.nii"}}}},
       {"loss", {{"mean", 0.5}, {"per_case", {{{"case", "Smith"}, {"value", 0.5}}}}}}});
  const auto document = document_of(folder(), 1000);
  const auto& data = document["data"];
  EXPECT_EQ(data["splits"][0], Json({{"split", "train"}, {"cases", 2}, {"patients", 1}}));
  EXPECT_EQ(data["splits"][1], Json({{"split", "val"}, {"cases", 1}, {"patients", 1}}));
  EXPECT_EQ(data["bad_at_start"][0], Json({{"reason", "is cut off"}, {"files", 1}}));
  EXPECT_EQ(data["quarantined"][0], Json({{"reason", "is no volume"}, {"files", 1}}));
  EXPECT_EQ(document["figures"][0]["loss"], Json({{"mean", 0.5}}));
  for (const char* name : {"Miller", "Smith", "Brown", "Jones"})
    EXPECT_THAT(document.dump(), Not(HasSubstr(name)));
}

TEST_F(DocumentOfARun, HasItsPicturesAsTheyAre) {
  put(folder().pictures() / "face-00000007.png", std::string("\x89PNG"));
  const auto pictures = document_of(folder(), 1000)["pictures"];
  EXPECT_EQ(pictures,
            Json({{{"name", "face"}, {"left_out", 0}, {"shots", {{{"png", "iVBORw=="}, {"step", 7}}}}}}));
  EXPECT_EQ(document_of(folder(), 0)["pictures"], Json::array());
}

TEST_F(DocumentOfARun, LeavesOutWhatTheFolderLacksOrThatIsDamaged) {
  put(folder().plan(), std::string("{"));
  put(folder().index(), std::string("no json"));
  put(folder().hardware(), Json::array({1}).dump());
  const auto document = document_of(folder(), 1000);
  EXPECT_EQ(document["plan"], Json::array());
  EXPECT_EQ(document["data"], Json::object());
  EXPECT_EQ(document["curves"], Json::object());
}

}  // namespace
}  // namespace larmor

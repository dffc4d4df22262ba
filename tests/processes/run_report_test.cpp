// The report of a run as a person gets it, and as a browser shows it.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/support/trained_run.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int usage = 2;
constexpr std::uintmax_t most_bytes = 5'000'000;

class Report : public TrainedRun {
 protected:
  static Json runs_in(const fs::path& file) {
    const auto page = read_text(file);
    const std::string begin = R"(<script id="runs" type="application/json">)";
    const auto from = page.find(begin) + begin.size();
    return Json::parse(page.substr(from, page.find("</script>", from) - from));
  }

  /// What a browser says of a page: its document once drawn, and on stderr its console.
  static Finished browse(const fs::path& page) {
    return larmor_program({"--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                           "--virtual-time-budget=4000", "--dump-dom",
                           "--user-data-dir=" + (folder() / "browser").string(), "file://" + page.string()},
                          {.folder = folder(), .program = browser});
  }
  static constexpr const char* browser = "/usr/bin/chromium";
};

TEST_F(Report, IsOneFileInTheRunWithItsFiguresCurvesAndPictures) {
  ASSERT_EQ(call({"evaluate", "run", "--quick"}).status, 0);
  const auto end = call({"report", "run"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("runs/run/report.html, "));
  const auto file = run() / "report.html";
  EXPECT_LT(fs::file_size(file), most_bytes);
  const auto document = runs_in(file)[0];
  EXPECT_EQ(document["state"], "done");
  EXPECT_EQ(document["steps"], 12);
  EXPECT_EQ(document["facts"]["ranks"], 1);
  EXPECT_FALSE(document["curves"]["train/loss"].empty());
  EXPECT_EQ(document["figures"][0]["split"], "val");
  EXPECT_TRUE(document["figures"][0]["loss"].contains("mean"));
  EXPECT_FALSE(document["pictures"].empty());
  EXPECT_THAT(document["plan"].dump(), HasSubstr("Strategy single"));
  EXPECT_EQ(call({"train", "run"}).status, 0) << "the run goes on as before";
}

TEST_F(Report, ShowsRunsOverEachOtherAndLeavesPicturesOutWhereAsked) {
  copy_of_run("other");
  const auto end = call({"report", "run", "runs/other", "--output", "both.html", "--no-pictures", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.json()["file"], "both.html");
  const auto runs = runs_in(folder() / "both.html");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1]["name"], "other");
  EXPECT_EQ(runs[0]["pictures"], Json::array());
}

TEST_F(Report, IsOfAnUnfinishedRunWithATornLogToo) {
  const auto torn = copy_of_run("torn");
  fs::remove(torn / "DONE");
  fs::resize_file(torn / "events.jsonl", fs::file_size(torn / "events.jsonl") - 20);
  const auto end = call({"report", "torn"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto document = runs_in(torn / "report.html")[0];
  EXPECT_EQ(document["state"], "unfinished");
  EXPECT_EQ(document["unread_lines"], 1);
}

TEST_F(Report, ComparesRunsOverTheSameCases) {
  ASSERT_EQ(
      call(with(small_training("early", /*ranks=*/1, /*steps=*/4), "optim.schedule.warmup", "0")).status, 0);
  const auto without = call({"compare", "run", "early"});
  EXPECT_EQ(without.status, 0) << without.err;
  EXPECT_THAT(without.out, AllOf(HasSubstr("  train.length  12st | 4st\n"),
                                 HasSubstr("early has no figures of val: larmor evaluate ")));

  ASSERT_EQ(call({"evaluate", "run"}).status, 0);
  ASSERT_EQ(call({"evaluate", "early"}).status, 0);
  const auto end = call({"compare", "run", "early", "--json"});
  ASSERT_EQ(end.status, 0) << end.err;
  const auto pairs = end.json()["figures"][0]["figures"];
  const auto loss =
      std::find_if(pairs.begin(), pairs.end(), [](const Json& one) { return one["figure"] == "loss"; });
  ASSERT_NE(loss, pairs.end());
  EXPECT_EQ((*loss)["baseline"], "run");
  EXPECT_GT((*loss)["difference"], 0) << "it had learnt less";
  EXPECT_LE((*loss)["interval"][0], (*loss)["difference"]);
  EXPECT_GE((*loss)["interval"][1], (*loss)["difference"]);
  EXPECT_EQ(end.json()["runs"][1]["checkpoint"], "step-00000004");
}

TEST_F(Report, ComparesNoRunWithNothing) {
  EXPECT_EQ(call({"compare", "run"}).status, usage);
  EXPECT_EQ(call({"compare", "run", "run", "--split", "vall"}).status, usage);
}

TEST_F(Report, OfARunThatIsNotThereNamesTheNearest) {
  const auto end = call({"report", "rum"});
  EXPECT_EQ(end.status, usage);
  EXPECT_THAT(end.err, HasSubstr("run"));
}

TEST_F(Report, DrawsItselfInABrowserWithoutAnErrorAndWithoutANetwork) {
  if (!fs::exists(browser)) GTEST_SKIP() << "chromium is not installed";
  copy_of_run("second");
  ASSERT_EQ(call({"report", "run", "second", "--output", "page.html"}).status, 0);
  const auto seen = browse(folder() / "page.html");
  EXPECT_THAT(seen.err, Not(HasSubstr("CONSOLE")));
  EXPECT_THAT(seen.out, AllOf(HasSubstr("<h2>At a glance</h2>"), HasSubstr("<h2>Keys that differ</h2>"),
                              HasSubstr("<h2>To cite</h2>"), HasSubstr("dygraph-axis-label")));

  put_file(folder() / "wrong.html", read_text(folder() / "page.html") + "<script>nothing_of_ours()</script>");
  EXPECT_THAT(browse(folder() / "wrong.html").err, HasSubstr("CONSOLE")) << "errors of a page are seen";
  put_file(folder() / "far.html",
           read_text(folder() / "page.html") + "<img src=\"http://127.0.0.1:9/x.png\">");
  EXPECT_THAT(browse(folder() / "far.html").err, HasSubstr("Content Security Policy"))
      << "nothing is fetched";
}

}  // namespace
}  // namespace larmor::testing

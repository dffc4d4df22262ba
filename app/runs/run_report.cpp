// `report`: runs as one HTML file, which a person opens in a browser.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/whole_file.h"
#include "larmor/base/text.h"
#include "larmor/report/report_page.h"
#include "larmor/report/run_document.h"
#include "larmor/run/run_folder.h"

#include "app/program.h"

namespace larmor::app {

namespace {

namespace fs = std::filesystem;

// In a page they take a third more; the page stays below 5 MB.
constexpr uint64_t most_picture_bytes = uint64_t{3'000'000};

struct ReportFlags {
  std::vector<std::string> runs;
  std::string folder = RunSection{}.folder, output;
  bool no_pictures = false;
};

int write_report(Program& program, const ReportFlags& flags) {
  std::vector<RunFolder> folders;
  for (const auto& word : flags.runs) folders.push_back(find_run(word, flags.folder));
  const auto file = flags.output.empty() ? folders.front().root / "report.html" : fs::path(flags.output);
  Json documents = Json::array();
  for (const auto& folder : folders)
    documents.push_back(document_of(folder, flags.no_pictures ? 0 : most_picture_bytes / folders.size()));
  const auto page = report_page(documents);
  write_output(program.storage(), file, page);
  program.show({{"file", file.string()}, {"bytes", page.size()}},
               Lines(text(file.string(), ", ", human_bytes(page.size()))));
  return 0;
}

}  // namespace

void add_report(Program& program) {
  const auto flags = std::make_shared<ReportFlags>();
  auto& verb =
      program.add_verb("report", "runs as one HTML file: curves, pictures, figures, faults, the plan",
                       [&program, flags] { return write_report(program, *flags); });
  verb.add_option("RUN", flags->runs, "run folders or names of runs; several are shown over each other")
      ->required();
  verb.add_option("--output", flags->output, "the file; without it RUN/report.html, of the first run");
  verb.add_option("--folder", flags->folder, "where runs that are named lie");
  verb.add_flag("--no-pictures", flags->no_pictures, "leaves out what shows patients");
}

}  // namespace larmor::app

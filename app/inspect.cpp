// Files as they say they are, and as they are.
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/volume.h"

#include "app/program.h"

namespace larmor::app {

namespace {

Json to_json(const std::string& path, const FileReport& report) {
  Json json;
  json["path"] = path;
  json["shape"] = report.shape;
  json["spacing_mm"] = Json::array();
  for (const auto length : report.spacing_mm) json["spacing_mm"].push_back(number_or_null(length));
  json["affine"] = Json::array();
  for (const auto& row : report.affine) {
    Json line = Json::array();
    for (const auto value : row) line.push_back(number_or_null(value));
    json["affine"].push_back(line);
  }
  json["dtype"] = report.dtype;
  json["min"] = number_or_null(report.min);
  json["max"] = number_or_null(report.max);
  json["mean"] = number_or_null(report.mean);
  json["sha256"] = report.sha256;
  json["problems"] = report.problems;
  return json;
}

Lines lines_of(const std::string& path, const FileReport& report) {
  std::string shape, spacing;
  for (const auto size : report.shape) shape += text(shape.empty() ? "" : " x ", size);
  for (const auto length : report.spacing_mm) spacing += text(spacing.empty() ? "" : " x ", fixed(length, 3));
  Lines lines(path);
  if (report.readable) {
    lines.add(text("  ", shape, " ", report.dtype, ", ", spacing, " mm"))
        .add(text("  values ", fixed(report.min, 4), " to ", fixed(report.max, 4), ", mean ",
                  fixed(report.mean, 4)))
        .add(text("  sha256 ", report.sha256));
  }
  for (const auto& problem : report.problems)
    lines.add(bounded(text(report.readable ? "  warning: " : "  cannot be read: ", problem)));
  return lines;
}

int inspect(Program& program, const std::vector<std::string>& files, const std::string& convert) {
  Json all = Json::array();
  Lines lines;
  size_t unreadable = 0;
  for (const auto& file : files) {
    const auto report = inspect_file(file);
    all.push_back(to_json(file, report));
    lines.add(lines_of(file, report));
    if (!report.readable) ++unreadable;
  }
  if (!convert.empty() && unreadable == 0) {
    require(files.size() == 1, Exit::usage, "--convert takes one file", "call inspect once for each file");
    write_nifti(program.storage(), convert, read_volume(files.front()), files.front());
    lines.add(text("  written to ", convert));
  }
  program.show(all, lines);
  if (unreadable == 0) return 0;
  fail(Exit::data,
       files.size() == 1 ? text(files.front(), " cannot be read: ", all[0]["problems"][0].get<std::string>())
                         : text(unreadable, " of ", files.size(), " files cannot be read"),
       "fetch the file again, or write it anew with the program that made it");
}

}  // namespace

void add_inspect(Program& program) {
  struct Arguments {
    std::vector<std::string> files;
    std::string convert;
  };
  const auto arguments = std::make_shared<Arguments>();
  auto& verb = program.add_verb(
      "inspect", "what image files hold: shape, spacing, values, faults",
      [&program, arguments] { return inspect(program, arguments->files, arguments->convert); });
  verb.add_option("FILE", arguments->files, "image files")->required();
  verb.add_option("--convert", arguments->convert, "write the one file as NIfTI (.nii or .nii.gz)");
}

}  // namespace larmor::app

// Files as they say they are, and as they are.
#include <filesystem>
#include <iterator>
#include <limits>
#include <set>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/folder_images.h"
#include "larmor/formats/mistaken_file.h"
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
  if (!report.remedy.empty()) lines.add(bounded(text("  ", report.remedy)));
  return lines;
}

struct Inspected {
  std::string path;
  FileReport report;
};

FileReport unreadable(const std::string& reason, const std::string& remedy) {
  FileReport report;
  report.min = report.max = report.mean = std::numeric_limits<double>::quiet_NaN();
  report.problems = {reason};
  report.readable = false;
  report.remedy = remedy;
  return report;
}

/// The file; or what lies in a folder that was named.
std::vector<Inspected> inspect_path(const std::string& path) {
  std::error_code absent;
  if (!std::filesystem::is_directory(path, absent)) return {{path, inspect_file(path)}};
  if (const auto mistaken = mistaken_file(path))
    return {{path, unreadable(mistaken->what, mistaken->remedy)}};
  std::vector<Inspected> all;
  try {
    for (const auto& image : images_below(path)) all.push_back({image.string(), inspect_file(image)});
  } catch (const Error& error) {
    return {{path, unreadable(error.message(), error.hint())}};
  }
  return all;
}

[[noreturn]] void refuse_unreadable(const std::vector<Inspected>& all) {
  std::vector<const Inspected*> bad;
  std::set<std::string> remedies;
  for (const auto& one : all) {
    if (one.report.readable) continue;
    bad.push_back(&one);
    remedies.insert(one.report.remedy);
  }
  const auto what = all.size() == 1 ? text(all[0].path, " cannot be read: ", all[0].report.problems.front())
                                    : text(bad.size(), " of ", all.size(), " files cannot be read");
  const bool is_known = remedies.size() == 1 && !remedies.begin()->empty();
  fail(Exit::data, what,
       is_known              ? *remedies.begin()
       : remedies.size() > 1 ? "what to do stands beside each of them"
                             : "fetch the file again, or write it anew with the program that made it");
}

int inspect(Program& program, const std::vector<std::string>& paths, const std::string& convert,
            HeaderText header_text) {
  std::vector<Inspected> all;
  for (const auto& path : paths) {
    auto here = inspect_path(path);
    std::move(here.begin(), here.end(), std::back_inserter(all));
  }
  Json json = Json::array();
  Lines lines;
  bool is_readable = true;
  for (const auto& [path, report] : all) {
    json.push_back(to_json(path, report));
    lines.add(lines_of(path, report));
    is_readable = is_readable && report.readable;
  }
  if (!convert.empty() && is_readable) {
    require(all.size() == 1, Exit::usage, "--convert takes one file", "call inspect once for each file");
    write_nifti(program.storage(), convert, read_volume(all[0].path), all[0].path, header_text);
    lines.add(text("  written to ", convert));
  }
  program.show(json, lines);
  if (!is_readable) refuse_unreadable(all);
  return 0;
}

}  // namespace

void add_inspect(Program& program) {
  struct Arguments {
    std::vector<std::string> files;
    std::string convert;
    HeaderText header_text = HeaderText::left_out;
  };
  const auto arguments = std::make_shared<Arguments>();
  auto& verb = program.add_verb(
      "inspect", "what image files hold: shape, spacing, values, faults", [&program, arguments] {
        return inspect(program, arguments->files, arguments->convert, arguments->header_text);
      });
  verb.add_option("FILE", arguments->files, "image files, or folders of them")->required();
  verb.add_option("--convert", arguments->convert, "write the one file as NIfTI (.nii or .nii.gz)");
  verb.add_flag_callback(
      "--keep-header-text", [arguments] { arguments->header_text = HeaderText::kept; },
      "what --convert writes keeps the free text of the file's header, which may name the patient");
}

}  // namespace larmor::app

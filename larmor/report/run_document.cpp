#include "larmor/report/run_document.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <openssl/evp.h>

#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/report/event_history.h"
#include "larmor/report/picture_series.h"
#include "larmor/run/run_list.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

/// An object without anything where the file is not there, or is none of ours.
Json json_of(const fs::path& file) {
  try {
    return read_json(file);
  } catch (const std::exception&) {
    return Json::object();
  }
}

/// What is made of files of ours, or `otherwise` where they are not of the form that is known.
template <typename Make>
Json made_or(Json otherwise, const Make& make) {
  try {
    return make();
  } catch (const Json::exception&) {
    return otherwise;
  }
}

std::string text_of(const fs::path& file) {
  try {
    return read_text(file);
  } catch (const std::exception&) {
    return {};
  }
}

/// Six digits: more cannot be seen, and would be most of the page.
double rounded(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return std::strtod(digits, nullptr);
}

std::string base64(const std::string& bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const auto* const in = reinterpret_cast<const unsigned char*>(bytes.data());
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), in, static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

void add_history(Json& document, const EventHistory& history) {
  document["facts"] = history.facts;
  document["starts"] = history.starts;
  document["steps"] = history.last_step;
  if (history.began) document["began"] = *history.began;
  if (history.ended) document["ended"] = *history.ended;
  const auto& time = history.time;
  document["time"] = {{"computing", time.computing},   {"waiting for data", time.waiting_for_data},
                      {"validating", time.validating}, {"standing still for saves", time.saving},
                      {"starting", time.starting},     {"between starts", time.standing}};
  auto& curves = document["curves"] = Json::object();
  for (const auto& [name, curve] : history.curves) {
    auto& points = curves[name] = Json::array();
    for (const auto& [step, value] : curve.points()) points.push_back({rounded(step), rounded(value)});
  }
  auto& happenings = document["happenings"] = Json::array();
  for (const auto& one : history.happenings) {
    happenings.push_back({{"t", one.time},
                          {"generation", one.generation},
                          {"step", one.step},
                          {"kind", one.kind},
                          {"words", one.words}});
  }
  document["happenings_left_out"] = history.happenings_left_out;
  document["unread_lines"] = history.unread_lines;
}

Json rows_of_machine(const Json& hardware) {
  Json rows = Json::array();
  if (hardware.empty()) return rows;
  const auto cores = hardware.value("cores", Json::array()).size();
  rows.push_back(
      {"CPU", text(hardware.value("cpu_name", "?"), ", ", cores, cores == 1 ? " core" : " cores")});
  if (hardware.contains("memory_limit_bytes"))
    rows.push_back({"memory", human_bytes(hardware["memory_limit_bytes"].get<uint64_t>())});
  for (const auto& gpu : hardware.value("gpus", Json::array())) {
    const auto bytes = gpu.value("memory_bytes", uint64_t{0});
    rows.push_back({"GPU", text(gpu.value("name", "?"), bytes > 0 ? ", " + human_bytes(bytes) : "")});
  }
  if (const auto hosts = hardware.value("hosts", 1); hosts > 1) rows.push_back({"hosts", text(hosts)});
  return rows;
}

/// Reasons with how many files each has, without their names.
Json counted_reasons(const Json& bad) {
  std::map<std::string, int64_t> counts;
  if (!bad.is_array()) return Json::array();
  for (const auto& file : bad) ++counts[file.value("reason", "no reason is known")];
  Json rows = Json::array();
  for (const auto& [reason, count] : counts) rows.push_back({{"reason", reason}, {"files", count}});
  return rows;
}

Json account_of_data(const Json& index, const Json& quarantine) {
  Json account = Json::object();
  if (index.empty()) return account;
  account["kind"] = index.value("kind", "");
  account["patients_by"] = index.value("patients_by", "");
  account["sha256"] = index.value("sha256", "");
  account["left_out"] = index.value("left_out", Json::array()).size();
  std::map<std::string, std::pair<int64_t, std::set<std::string>>> splits;
  for (const auto& one : index.value("cases", Json::array())) {
    auto& [cases, patients] = splits[one.value("split", "")];
    ++cases;
    patients.insert(one.value("patient", ""));
  }
  auto& rows = account["splits"] = Json::array();
  for (const char* split : {"train", "val", "test"}) {
    const auto& [cases, patients] = splits[split];
    rows.push_back({{"split", split}, {"cases", cases}, {"patients", patients.size()}});
  }
  account["bad_at_start"] = counted_reasons(index.value("bad", Json::array()));
  account["quarantined"] = counted_reasons(quarantine);
  return account;
}

Json figures_of(const RunFolder& folder) {
  Json all = Json::array();
  for (const char* split : {"train", "val", "test"}) {
    auto figures = json_of(folder.figures(split));
    if (figures.empty()) continue;
    for (auto& figure : figures) {
      if (figure.is_object()) figure.erase("per_case");
    }
    for (const char* of_patients : {"bad", "changes", "trained_on", "groups"}) figures.erase(of_patients);
    all.push_back(std::move(figures));
  }
  return all;
}

Json pictures_of(const RunFolder& folder, uint64_t bytes) {
  Json all = Json::array();
  for (const auto& series : pictures_within(folder.pictures(), bytes)) {
    Json shots = Json::array();
    for (const auto& shot : series.shots) {
      Json one = {{"png", base64(text_of(shot.file))}};
      if (shot.step) one["step"] = *shot.step;
      shots.push_back(std::move(one));
    }
    all.push_back({{"name", series.name}, {"left_out", series.left_out}, {"shots", std::move(shots)}});
  }
  return all;
}

/// "train.length=10st" as a key and its value.
Json keys_of(const Json& assignments) {
  Json keys = Json::object();
  for (const auto& one : assignments) {
    if (!one.is_string()) continue;
    const auto words = one.get<std::string>();
    const auto equals = words.find('=');
    if (equals != std::string::npos) keys[words.substr(0, equals)] = words.substr(equals + 1);
  }
  return keys;
}

}  // namespace

Json short_document_of(const RunFolder& folder) {
  const auto outline = outline_of(folder);
  const auto environment = json_of(folder.environment());
  Json document = {{"name", folder.root.filename().string()},
                   {"folder", folder.root.string()},
                   {"workload", outline.workload},
                   {"stage", outline.stage},
                   {"state", outline.state}};
  if (outline.state == "failed") document["reason"] = text_of(folder.root / "FAILED");
  for (const char* key : {"program", "build", "host"})
    document[key] = made_or("", [&] { return environment.value(key, ""); });
  document["keys"] =
      made_or(Json::object(), [&] { return keys_of(environment.value("config", Json::array())); });
  document["metric"] = document["keys"].value("checkpoint.metric", "");
  document["machine"] = made_or(Json::array(), [&] { return rows_of_machine(json_of(folder.hardware())); });
  return document;
}

Json document_of(const RunFolder& folder, uint64_t picture_bytes) {
  Json document = short_document_of(folder);
  add_history(document, read_events(folder.events()));
  document["plan"] =
      made_or(Json::array(), [&] { return json_of(folder.plan()).value("reasons", Json::array()); });
  document["data"] = made_or(
      Json::object(), [&] { return account_of_data(json_of(folder.index()), json_of(folder.quarantine())); });
  document["figures"] = made_or(Json::array(), [&] { return figures_of(folder); });
  document["pictures"] = picture_bytes > 0 ? pictures_of(folder, picture_bytes) : Json::array();
  document["config"] = text_of(folder.config());
  return document;
}

}  // namespace larmor

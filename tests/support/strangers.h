// What somebody else has put into a folder that the program cleans.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace larmor::testing {

/// Under each of the names a folder with a file in it, under NAME.file a file, and under NAME.link and
/// NAME.file.link links to a folder and a file outside.
class Strangers {
 public:
  Strangers(std::filesystem::path outside, const std::vector<std::filesystem::path>& names)
      : outside_(std::move(outside)), names_(names) {
    std::filesystem::create_directories(outside_);
    write(outside_ / "work");
    for (const auto& name : names_) {
      std::filesystem::create_directories(name / "inner");
      write(name / "work");
      write(file_of(name, ".file"));
      std::filesystem::create_symlink(outside_, file_of(name, ".link"));
      std::filesystem::create_symlink(outside_ / "work", file_of(name, ".file.link"));
    }
  }

  void expect_there() const {
    EXPECT_TRUE(holds_work(outside_ / "work"));
    for (const auto& name : names_) {
      EXPECT_TRUE(std::filesystem::is_directory(name / "inner")) << name;
      EXPECT_TRUE(holds_work(name / "work")) << name;
      EXPECT_TRUE(holds_work(file_of(name, ".file"))) << name;
      for (const char* const link : {".link", ".file.link"})
        EXPECT_TRUE(std::filesystem::is_symlink(file_of(name, link))) << name << link;
    }
  }

 private:
  static std::filesystem::path file_of(std::filesystem::path name, const char* ending) {
    return name.concat(ending);
  }
  static void write(const std::filesystem::path& file) { std::ofstream(file) << "of years"; }
  static bool holds_work(const std::filesystem::path& file) {
    std::string word;
    std::getline(std::ifstream(file), word);
    return word == "of years";
  }

  const std::filesystem::path outside_;
  const std::vector<std::filesystem::path> names_;
};

}  // namespace larmor::testing

// Manifests that are sealed and say what is not so: anybody who can write can seal.
#include "larmor/checkpoint/manifest.h"

#include <sys/stat.h>

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"

#include "tests/checkpoint/support/small_snapshot.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

using ::testing::HasSubstr;

class CraftedManifest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto solo = make_solo();
    CheckpointWriter(scratch_.path(), disk_, *solo, saved_at_once()).save(small_snapshot(12), false);
  }
  fs::path root() const { return scratch_.path(); }
  fs::path folder() const { return root() / "step-00000012"; }

  /// The manifest after `change`, sealed again.
  void craft(const std::function<void(Json&)>& change) {
    auto manifest = open_manifest(folder());
    change(manifest);
    write_text(disk_, folder() / manifest_name, seal(manifest));
  }
  static Json& file_of(Json& manifest, const std::string& name) {
    for (auto& file : manifest["files"]) {
      if (file["name"] == name) return file;
    }
    ADD_FAILURE() << name;
    return manifest["files"][0];
  }
  static Json entry_of(const std::string& name, const fs::path& file) {
    Json entry;
    entry["name"] = name;
    entry["bytes"] = fs::file_size(file);
    entry["sha256"] = sha256_of_file(file);
    return entry;
  }
  void expect_refused(const std::string& why) const {
    const auto entry = verify_checkpoint(folder());
    EXPECT_FALSE(entry.ok) << why;
    EXPECT_THAT(entry.reason, HasSubstr(why));
  }
  /// What a manifest says after `change` is refused.
  void expect_refused(const std::string& why, const std::function<void(Json&)>& change) {
    const auto before = read_text(folder() / manifest_name);
    craft(change);
    expect_refused(why);
    write_text(disk_, folder() / manifest_name, before);
    ASSERT_TRUE(verify_checkpoint(folder()).ok);
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
};

TEST_F(CraftedManifest, IsRefusedWhenItListsNotJustTheFilesOfItsFolder) {
  const auto elsewhere = root() / "elsewhere.safetensors";
  fs::copy_file(folder() / model_name, elsewhere);
  expect_refused("lists no files", [](Json& manifest) { manifest["files"] = Json::array(); });
  expect_refused("lists no files", [](Json& manifest) { manifest["files"] = nullptr; });
  for (const std::string& name :
       {std::string("../elsewhere.safetensors"), elsewhere.string(), std::string(".."), std::string("a/b"),
        std::string("\x1b]0;owned\x07"), std::string(), std::string(".hidden"), std::string(manifest_name)}) {
    expect_refused("no plain name",
                   [&](Json& manifest) { manifest["files"].push_back(entry_of(name, elsewhere)); });
    expect_refused("no plain name", [&](Json& manifest) { file_of(manifest, model_name)["name"] = name; });
  }
  expect_refused("lists model.safetensors twice", [&](Json& manifest) {
    manifest["files"].push_back(entry_of(model_name, folder() / model_name));
  });
  for (const char* name : {state_name, model_name}) {
    expect_refused(std::string("does not list ") + name, [&](Json& manifest) {
      auto& files = manifest["files"];
      for (size_t i = 0; i < files.size(); ++i) {
        if (files[i]["name"] == name) files.erase(i--);
      }
    });
  }
}

TEST_F(CraftedManifest, IsRefusedWhenAFileOfTensorsIsNotListed) {
  fs::copy_file(folder() / model_name, folder() / "extra.safetensors");
  expect_refused("a .safetensors file lies in it that its manifest does not list");
}

TEST_F(CraftedManifest, IsRefusedWhenAFileIsALinkOrAPipe) {
  for (const char* name : {state_name, model_name, manifest_name}) {
    fs::rename(folder() / name, root() / "linked");
    fs::create_symlink(root() / "linked", folder() / name);
    expect_refused("is a link or no file");
    fs::remove(folder() / name);
    ASSERT_EQ(mkfifo((folder() / name).c_str(), 0600), 0);
    expect_refused("is a link or no file");
    fs::remove(folder() / name);
    fs::rename(root() / "linked", folder() / name);
  }
  EXPECT_TRUE(verify_checkpoint(folder()).ok);
}

TEST_F(CraftedManifest, IsRefusedWhenItsNumbersAreNone) {
  const std::vector<std::pair<const char*, Json>> lies{
      {"step", -5},         {"step", int64_t{1000000000000000}},
      {"step", "12"},       {"step", 12.5},
      {"world_size", -3},   {"world_size", 0},
      {"examples", -1},     {"world_size", uint64_t{1} << 63},
      {"world_size", 1e18}, {"generation", -1},
      {"metric", "nan"},    {"epoch", "x"},
      {"epoch", -1},        {"epoch", nullptr},
      {"examples", 1e300},  {"bitwise", 1},
      {"config_sha256", 5}, {"build", nullptr}};
  for (const auto& [key, value] : lies)
    expect_refused("its manifest ", [&, name = key, lie = value](Json& manifest) { manifest[name] = lie; });
  for (const auto& bytes : {Json(1e300), Json(-1), Json("1")})
    expect_refused("no size", [&](Json& manifest) { manifest["files"][0]["bytes"] = bytes; });
  expect_refused("no SHA-256", [](Json& manifest) { manifest["files"][0]["sha256"] = "x"; });
  expect_refused("has no world_size", [](Json& manifest) { manifest.erase("world_size"); });
}

TEST_F(CraftedManifest, IsRefusedInTheFolderOfAnotherStep) {
  for (const char* name : {"step-00000099", "step-12", "step-99999999999999999999999999"}) {
    fs::rename(folder(), root() / name);
    const auto all = list_checkpoints(root(), /*verify=*/true);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_FALSE(all[0].ok);
    EXPECT_THAT(all[0].reason, HasSubstr("is of step 12, whose folder is called step-00000012"));
    fs::rename(root() / name, folder());
  }
}

TEST_F(CraftedManifest, IsRefusedWithAStateThatIsNone) {
  const auto replace_state = [&](const std::string& state) {
    write_text(disk_, folder() / state_name, state);
    craft(
        [&](Json& manifest) { file_of(manifest, state_name) = entry_of(state_name, folder() / state_name); });
  };
  std::string deep;
  for (int i = 0; i < 3000; ++i) deep += R"({"a":)";
  replace_state(deep);
  expect_refused(state_name);
  replace_state("[]\n");
  expect_refused("state.json is no object");
  replace_state(R"({"trainer": {"step": 11}})");
  expect_refused("state.json is of another step");
  replace_state(R"({"trainer": {"step": 12}})");
  EXPECT_TRUE(verify_checkpoint(folder()).ok);
}

TEST_F(CraftedManifest, IsReadThroughALinkToItsFolder) {
  fs::create_directory_symlink(folder(), root() / "mine");
  const auto entry = verify_checkpoint(root() / "mine");
  EXPECT_TRUE(entry.ok) << entry.reason;
  EXPECT_EQ(entry.folder.filename(), "step-00000012");
}

}  // namespace
}  // namespace larmor::testing

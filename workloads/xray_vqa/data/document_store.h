// Many small documents that lie in a zip archive or in a folder, read one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace larmor::xray_vqa {

/// Thread-safe for reading.
class DocumentStore {
 public:
  struct Document {
    std::string name;   // "p10/p10000032/s50414267.qa.json": what stands behind the store's own folder
    std::string stamp;  // changes when the document does
    uint64_t bytes = 0;
  };

  /// `base`.zip, or the folder `base`; nothing where neither is there. Lists documents whose names end in
  /// `ending`, sorted. Throws Error (data): an archive that is cut or damaged.
  static std::unique_ptr<DocumentStore> open(const std::filesystem::path& base, std::string_view ending);
  virtual ~DocumentStore() = default;

  const std::filesystem::path& path() const { return path_; }
  const std::vector<Document>& documents() const { return documents_; }
  /// Reads it into `buffer`, which then has `padding` bytes more than the text that is given. Throws Error
  /// (data).
  virtual std::string_view read(std::size_t document, std::string& buffer, std::size_t padding) const = 0;
  /// The place of the document of this study ("s50414267"), or -1.
  int64_t find_study(std::string_view study) const;

 protected:
  explicit DocumentStore(std::filesystem::path path) : path_(std::move(path)) {}
  void sort_documents();

  std::filesystem::path path_;
  std::vector<Document> documents_;

 private:
  std::map<std::string, int64_t, std::less<>> studies_;
};

/// "s50414267" of "p10/p10000032/s50414267.qa.json".
std::string_view study_of_document(std::string_view name);

}  // namespace larmor::xray_vqa

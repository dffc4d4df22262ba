#include "workloads/xray_vqa/data/document_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/files/mapped_file.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/text.h"
#include "larmor/formats/numpy/zip_archive.h"

namespace larmor::xray_vqa {
namespace {

constexpr uint64_t largest_document = uint64_t{256} << 20;

std::span<const std::byte> bytes_of(std::string_view view) { return std::as_bytes(std::span(view)); }

class ZippedDocuments final : public DocumentStore {
 public:
  ZippedDocuments(const std::filesystem::path& path, std::string_view ending)
      : DocumentStore(path), file_(path, MappedFile::Use::anywhere), archive_(naming(path, [&] {
          constexpr uint64_t most_documents = 10'000'000;
          return ZipArchive(bytes_of(file_.bytes()), most_documents);
        })) {
    for (const auto& entry : archive_.entries()) {
      if (!std::string_view(entry.name).ends_with(ending)) continue;
      documents_.push_back({entry.name, text(entry.crc32, ' ', entry.size), entry.size});
      entries_.emplace(entry.name, &entry);
    }
    sort_documents();
  }

  std::string_view read(std::size_t document, std::string& buffer, std::size_t padding) const override {
    const std::string& name = documents_[document].name;
    const auto& entry = *entries_.at(name);
    if (entry.size > largest_document) fail(Exit::data, text(name, ": is too large for a document"));
    const Bytes plain = naming(path_, [&] { return archive_.extract(entry); });
    buffer.resize(plain.size() + padding);
    std::memcpy(buffer.data(), plain.data(), plain.size());
    return std::string_view(buffer).substr(0, plain.size());
  }

 private:
  MappedFile file_;
  ZipArchive archive_;
  std::map<std::string, const ZipArchive::Entry*, std::less<>> entries_;
};

class FolderOfDocuments final : public DocumentStore {
 public:
  FolderOfDocuments(const std::filesystem::path& path, std::string_view ending) : DocumentStore(path) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(
             path, std::filesystem::directory_options::follow_directory_symlink)) {
      struct stat status{};
      if (!entry.path().native().ends_with(ending) || ::stat(entry.path().c_str(), &status) != 0) continue;
      const auto size = static_cast<uint64_t>(status.st_size);
      documents_.push_back(
          {entry.path().lexically_relative(path).string(),
           text(size, ' ', int64_t{status.st_mtim.tv_sec}, ' ', int64_t{status.st_mtim.tv_nsec}), size});
    }
    sort_documents();
  }

  std::string_view read(std::size_t document, std::string& buffer, std::size_t padding) const override {
    const auto path = path_ / documents_[document].name;
    return naming(path, [&] {
      const RegularFile file = open_regular(path);
      if (file.size() > largest_document) fail(Exit::data, "is too large for a document");
      buffer.resize(file.size() + padding);
      const std::size_t count = file.read_at(0, std::as_writable_bytes(std::span(buffer)).first(file.size()));
      if (count != file.size()) fail(Exit::data, "was cut while it was read");
      return std::string_view(buffer).substr(0, count);
    });
  }
};

}  // namespace

std::string_view study_of_document(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  return name.substr(0, name.find('.'));
}

void DocumentStore::sort_documents() {
  std::sort(documents_.begin(), documents_.end(),
            [](const Document& a, const Document& b) { return a.name < b.name; });
  for (std::size_t i = 0; i < documents_.size(); ++i)
    studies_.emplace(study_of_document(documents_[i].name), static_cast<int64_t>(i));
}

int64_t DocumentStore::find_study(std::string_view study) const {
  const auto found = studies_.find(study);
  return found == studies_.end() ? -1 : found->second;
}

std::unique_ptr<DocumentStore> DocumentStore::open(const std::filesystem::path& base,
                                                   std::string_view ending) {
  const auto archive = std::filesystem::path(base).concat(".zip");
  if (std::filesystem::is_regular_file(archive)) return std::make_unique<ZippedDocuments>(archive, ending);
  if (std::filesystem::is_directory(base)) return std::make_unique<FolderOfDocuments>(base, ending);
  return nullptr;
}

}  // namespace larmor::xray_vqa

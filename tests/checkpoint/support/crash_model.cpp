#include "tests/checkpoint/support/crash_model.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace larmor::testing {

namespace {

using Kind = Recorded::Kind;

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (const auto& part : std::filesystem::path(path)) {
    if (part != "." && !part.empty()) parts.push_back(part.string());
  }
  return parts;
}

}  // namespace

CrashModel::CrashModel(const FileTree& durable) {
  add(FileItem::Kind::folder);
  for (const auto& [path, item] : durable) {
    const auto [folder, name] = place_of(path);
    const size_t node = add(item.kind, item.content);
    nodes_[node].durable = item.content;
    nodes_[folder].cached_entries[name] = nodes_[folder].durable_entries[name] = node;
  }
}

size_t CrashModel::add(FileItem::Kind kind, std::string content) {
  Node node;
  node.kind = kind;
  // A link is an entry of its folder and no more.
  if (kind == FileItem::Kind::link) node.durable = content;
  node.cached = std::move(content);
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

size_t CrashModel::find(const std::string& path) const {
  size_t node = 0;
  for (const auto& part : parts_of(path)) {
    const auto found = nodes_[node].cached_entries.find(part);
    if (found == nodes_[node].cached_entries.end()) return none;
    node = found->second;
  }
  return node;
}

std::pair<size_t, std::string> CrashModel::place_of(const std::string& path) const {
  const std::filesystem::path whole(path);
  const size_t folder = find(whole.parent_path().string());
  if (folder == none) throw std::logic_error("the model has no folder for " + path);
  return {folder, whole.filename().string()};
}

void CrashModel::change(size_t folder, Change change) {
  auto& entries = nodes_[folder].cached_entries;
  for (const auto& [name, node] : change.entries) {
    if (const auto old = entries.find(name); old != entries.end()) change.nodes.push_back(old->second);
    if (node != none) change.nodes.push_back(node);
  }
  for (const auto& [name, node] : change.entries) {
    if (node == none) {
      entries.erase(name);
    } else {
      entries[name] = node;
    }
  }
  nodes_[folder].pending.push_back(std::move(change));
}

void CrashModel::remove(size_t folder, const std::string& name, const std::function<void()>& after_step) {
  const size_t node = nodes_[folder].cached_entries.at(name);
  const auto inner = nodes_[node].cached_entries;
  for (const auto& [inner_name, inner_node] : inner) remove(node, inner_name, after_step);
  change(folder, {.entries = {{name, none}}});
  after_step();
}

void CrashModel::create(const Recorded& operation) {
  const auto [folder, name] = place_of(operation.path);
  const auto found = nodes_[folder].cached_entries.find(name);
  if (found != nodes_[folder].cached_entries.end()) {
    nodes_[found->second].cached.clear();
    open_files_[operation.file] = found->second;
    return;
  }
  const size_t node = add(FileItem::Kind::file);
  open_files_[operation.file] = node;
  change(folder, {.entries = {{name, node}}});
}

void CrashModel::rename(const std::string& from, const std::string& to) {
  const auto [folder, name] = place_of(from);
  const auto [new_folder, new_name] = place_of(to);
  const size_t node = find(from);
  if (node == none) throw std::logic_error("the model has nothing to rename at " + from);
  if (folder == new_folder) return change(folder, {.entries = {{name, none}, {new_name, node}}});
  change(folder, {.entries = {{name, none}}, .twin = twins_});
  change(new_folder, {.entries = {{new_name, node}}, .twin = twins_++});
}

// Of one folder, which is all that a save exchanges within.
void CrashModel::exchange(const std::string& one, const std::string& other) {
  const auto [folder, name] = place_of(one);
  const auto [same_folder, other_name] = place_of(other);
  if (folder != same_folder) throw std::logic_error("the model exchanges within a folder");
  change(folder, {.entries = {{name, find(other)}, {other_name, find(one)}}});
}

// As DiskStorage::replace_link(): a link of another name, renamed.
void CrashModel::replace_link(const Recorded& operation, const std::function<void()>& after_step) {
  const std::filesystem::path link = operation.path;
  const auto temporary =
      (link.parent_path() / ("." + link.filename().string() + ".partial-0000000000000001")).string();
  const auto [folder, name] = place_of(temporary);
  if (nodes_[folder].cached_entries.contains(name)) remove(folder, name, after_step);
  change(folder, {.entries = {{name, add(FileItem::Kind::link, operation.target)}}});
  after_step();
  rename(temporary, operation.path);
}

// These changes are on the disk from here on, and the other halves of renames with them.
void CrashModel::settle(size_t folder, std::vector<bool> kept) {
  kept = with_earlier(nodes_[folder], std::move(kept));
  nodes_[folder].durable_entries = entries_with(nodes_[folder], kept);
  std::vector<Change> left;
  std::vector<int64_t> twins;
  for (size_t i = 0; i < kept.size(); ++i) {
    auto& change = nodes_[folder].pending[i];
    if (kept[i] && change.twin >= 0) twins.push_back(change.twin);
    if (!kept[i]) left.push_back(std::move(change));
  }
  nodes_[folder].pending = std::move(left);
  for (size_t other = 0; other < nodes_.size(); ++other) {
    std::vector<bool> halves;
    for (const auto& change : nodes_[other].pending)
      halves.push_back(std::ranges::count(twins, change.twin) > 0);
    if (std::ranges::count(halves, true) > 0) settle(other, std::move(halves));
  }
}

void CrashModel::sync_folder(size_t folder) {
  if (folder == none) throw std::logic_error("the model has no such folder to sync");
  settle(folder, std::vector<bool>(nodes_[folder].pending.size(), true));
}

void CrashModel::apply(const Recorded& operation, const std::function<void()>& after_step) {
  switch (operation.kind) {
    case Kind::make_folder: {
      const auto [folder, name] = place_of(operation.path);
      change(folder, {.entries = {{name, add(FileItem::Kind::folder)}}});
      break;
    }
    case Kind::create:
      create(operation);
      break;
    case Kind::write:
      nodes_[open_files_.at(operation.file)].cached += operation.bytes;
      break;
    case Kind::sync: {
      auto& node = nodes_[open_files_.at(operation.file)];
      node.durable = node.cached;
      break;
    }
    case Kind::rename:
      rename(operation.path, operation.target);
      break;
    case Kind::exchange:
      exchange(operation.path, operation.target);
      break;
    case Kind::sync_folder:
      sync_folder(find(operation.path));
      break;
    case Kind::remove_all:
      if (find(operation.path) == none) return;
      return remove(place_of(operation.path).first, place_of(operation.path).second, after_step);
    case Kind::link:
      replace_link(operation, after_step);
      break;
    case Kind::close:
    case Kind::announce:
      break;
  }
  after_step();
}

size_t CrashModel::pending_changes() const {
  size_t count = 0;
  for (const auto& node : nodes_) count += node.pending.size();
  return count;
}

std::vector<CrashModel::Unsynced> CrashModel::unsynced_files() const {
  std::vector<Unsynced> unsynced;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].durable != nodes_[node].cached)
      unsynced.push_back({node, nodes_[node].durable, nodes_[node].cached});
  }
  return unsynced;
}

FileTree CrashModel::tree(const EntriesOf& entries_of,
                          const std::function<std::string(size_t)>& content_of) const {
  FileTree tree;
  const std::function<void(size_t, const std::string&)> walk = [&](size_t folder, const std::string& prefix) {
    for (const auto& [name, node] : entries_of(folder)) {
      const auto kind = nodes_[node].kind;
      tree[prefix + name] = {kind, kind == FileItem::Kind::folder ? std::string() : content_of(node)};
      if (kind == FileItem::Kind::folder) walk(node, prefix + name + "/");
    }
  };
  walk(0, "");
  return tree;
}

FileTree CrashModel::cached() const {
  return tree([&](size_t node) { return nodes_[node].cached_entries; },
              [&](size_t node) { return nodes_[node].cached; });
}

// A change that is on the disk brings the earlier ones of the same file in the same folder with it: otherwise
// a renamed folder would have two names.
std::vector<bool> CrashModel::with_earlier(const Node& folder, std::vector<bool> kept) {
  for (size_t later = folder.pending.size(); later-- > 0;) {
    if (!kept[later]) continue;
    for (size_t earlier = 0; earlier < later; ++earlier) {
      for (const size_t node : folder.pending[later].nodes) {
        if (std::ranges::count(folder.pending[earlier].nodes, node) > 0) kept[earlier] = true;
      }
    }
  }
  return kept;
}

CrashModel::Entries CrashModel::entries_with(const Node& folder, const std::vector<bool>& kept) {
  Entries entries = folder.durable_entries;
  for (size_t i = 0; i < folder.pending.size(); ++i) {
    if (!kept[i]) continue;
    for (const auto& [name, node] : folder.pending[i].entries) {
      if (node == none) {
        entries.erase(name);
      } else {
        entries[name] = node;
      }
    }
  }
  return entries;
}

FileTree CrashModel::after_crash(const Choice& choice) const {
  std::vector<std::vector<bool>> kept;
  auto next = choice.kept.begin();
  for (const auto& node : nodes_) {
    const auto end = next + static_cast<std::ptrdiff_t>(node.pending.size());
    kept.emplace_back(next, end);
    next = end;
  }
  // Both halves of a rename between folders, with what each brings with it, until nothing more comes.
  for (bool grows = true; grows;) {
    grows = false;
    std::vector<int64_t> twins;
    for (size_t node = 0; node < nodes_.size(); ++node) {
      kept[node] = with_earlier(nodes_[node], std::move(kept[node]));
      for (size_t i = 0; i < kept[node].size(); ++i) {
        if (kept[node][i] && nodes_[node].pending[i].twin >= 0) twins.push_back(nodes_[node].pending[i].twin);
      }
    }
    for (size_t node = 0; node < nodes_.size(); ++node) {
      for (size_t i = 0; i < kept[node].size(); ++i) {
        if (kept[node][i] || std::ranges::count(twins, nodes_[node].pending[i].twin) == 0) continue;
        kept[node][i] = grows = true;
      }
    }
  }
  std::vector<Entries> entries;
  for (size_t node = 0; node < nodes_.size(); ++node)
    entries.push_back(entries_with(nodes_[node], kept[node]));
  return tree([&](size_t node) { return entries[node]; },
              [&](size_t node) {
                const auto chosen = choice.contents.find(node);
                return chosen == choice.contents.end() ? nodes_[node].durable : chosen->second;
              });
}

}  // namespace larmor::testing

#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

/// Named texts in memory, as many as fit. Thread-safe, since handlers run at once on several threads.
class Documents final {
 public:
  static constexpr std::size_t kMaxDocuments = 1'000;

  /// The names that begin with the prefix, one a line.
  [[nodiscard]] std::string list(const std::string& prefix) const {
    const std::scoped_lock lock(mutex_);
    std::string names;
    for (auto document = documents_.lower_bound(prefix); document != documents_.end() && document->first.starts_with(prefix); ++document) {
      names += document->first + "\n";
    }
    return names;
  }

  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = documents_.find(name);
    return found == documents_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Whether it is new. Throws when there is no room for another.
  bool store(const std::string& name, std::string content) {
    const std::scoped_lock lock(mutex_);
    if (documents_.size() >= kMaxDocuments && !documents_.contains(name)) {
      throw std::length_error("the catalogue is full");
    }
    return documents_.insert_or_assign(name, std::move(content)).second;
  }

  bool remove(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return documents_.erase(name) > 0;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> documents_;
};

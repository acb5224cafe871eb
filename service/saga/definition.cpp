#include "service/saga/definition.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <iterator>

namespace outrigger::saga {

std::optional<std::size_t> Definition::index_of(std::string_view step) const {
  const auto found = std::ranges::find(steps, step, &Step::name);
  return found == steps.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - steps.begin()));
}

std::optional<std::size_t> Definition::pivot() const {
  const auto found = std::ranges::find(steps, true, &Step::pivot);
  return found == steps.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - steps.begin()));
}

Result<Catalog> Catalog::load(const std::filesystem::path& folder) {
  std::error_code problem;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    if (const auto extension = entry.path().extension(); extension == ".yaml" || extension == ".yml") {
      files.push_back(entry.path());
    }
  }
  if (problem) {
    return fail(ErrorCode::kNotFound, std::format("the folder of saga definitions cannot be read: {}", problem.message()), folder.string());
  }
  if (files.empty()) {
    return fail(ErrorCode::kNotFound, "no saga definition is here: add a file NAME.yaml", folder.string());
  }
  std::ranges::sort(files);
  Catalog catalog;
  std::string problems;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) {
      return fail(ErrorCode::kNotFound, "the file cannot be read", file.string());
    }
    auto definition = parse_definition(text, file.string());
    const auto added = definition ? catalog.add(std::move(*definition)) : std::unexpected(definition.error());
    if (!added) {
      problems += problems.empty() ? "" : "\n";
      problems +=
          added.error().code == ErrorCode::kAlreadyExists ? std::format("{}: {}", file.string(), added.error().message) : added.error().message;
    }
  }
  if (!problems.empty()) {
    return fail(ErrorCode::kInvalidArgument, std::move(problems));
  }
  return catalog;
}

Result<void> Catalog::add(Definition definition) { return add(std::make_shared<const Definition>(std::move(definition))); }

Result<void> Catalog::add(std::shared_ptr<const Definition> definition) {
  const auto& known = by_name_[definition->name].try_emplace(definition->version, definition).first->second;
  if (known->hash != definition->hash) {
    return fail(ErrorCode::kAlreadyExists,
                std::format("version {} of '{}' is defined twice with different content: a definition never changes, raise metadata.version",
                            definition->version, definition->name));
  }
  return {};
}

Result<Catalog> Catalog::merged_with(const Catalog& more) const {
  auto merged = *this;
  for (const auto& definition : more.all()) {
    if (const auto added = merged.add(definition); !added) {
      return std::unexpected(added.error());
    }
  }
  return merged;
}

std::shared_ptr<const Definition> Catalog::latest(std::string_view name) const {
  const auto versions = by_name_.find(name);
  return versions == by_name_.end() ? nullptr : versions->second.rbegin()->second;
}

std::shared_ptr<const Definition> Catalog::by_hash(std::string_view hash) const {
  for (const auto& [name, versions] : by_name_) {
    for (const auto& [version, definition] : versions) {
      if (definition->hash == hash) {
        return definition;
      }
    }
  }
  return nullptr;
}

std::vector<std::shared_ptr<const Definition>> Catalog::all() const {
  std::vector<std::shared_ptr<const Definition>> result;
  for (const auto& [name, versions] : by_name_) {
    for (const auto& [version, definition] : versions) {
      result.push_back(definition);
    }
  }
  return result;
}

}  // namespace outrigger::saga

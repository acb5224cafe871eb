#include "lib/contracts/registry.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace outrigger::contracts {
namespace {

constexpr std::string_view kMagic = "\xC3\x01";
constexpr std::size_t kHeaderBytes = 10;

}  // namespace

Result<void> SchemaRegistry::add(Schema schema) {
  const auto fingerprint = schema.fingerprint();
  const auto [entry, is_new] = by_fingerprint_.try_emplace(fingerprint, schema);
  if (!is_new && entry->second.canonical_form() != schema.canonical_form()) {
    return fail(ErrorCode::kAlreadyExists,
                std::format("{} and {} have the same fingerprint {:016x}", entry->second.name(), schema.name(), fingerprint));
  }
  by_name_.insert_or_assign(schema.name(), fingerprint);
  return {};
}

Result<void> SchemaRegistry::add_folder(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (std::filesystem::recursive_directory_iterator i(folder, problem), end; !problem && i != end; i.increment(problem)) {
    if (i->path().extension() == ".avsc") {
      files.push_back(i->path());
    }
  }
  if (problem) {
    return fail(ErrorCode::kNotFound, std::format("cannot read the folder of schemas: {}", problem.message()), folder.string());
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) {
      return fail(ErrorCode::kNotFound, "cannot read the schema", file.string());
    }
    auto schema = Schema::parse(text, file.string());
    if (!schema) {
      return std::unexpected(schema.error());
    }
    if (auto added = add(std::move(*schema)); !added) {
      return added;
    }
  }
  return {};
}

Result<void> SchemaRegistry::add_embedded(std::span<const EmbeddedSchema> schemas) {
  for (const auto& [file, text] : schemas) {
    auto schema = Schema::parse(text, file);
    if (!schema) {
      return std::unexpected(schema.error());
    }
    if (auto added = add(std::move(*schema)); !added) {
      return added;
    }
  }
  return {};
}

const Schema* SchemaRegistry::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : find(found->second);
}

const Schema* SchemaRegistry::find(std::uint64_t fingerprint) const {
  const auto found = by_fingerprint_.find(fingerprint);
  return found == by_fingerprint_.end() ? nullptr : &found->second;
}

Result<std::string> SchemaRegistry::encode(std::string_view schema_name, std::string_view json) const {
  const auto* schema = find(schema_name);
  if (schema == nullptr) {
    return fail(ErrorCode::kNotFound, std::format("no schema is called {}", schema_name));
  }
  auto body = contracts::encode(*schema, json);
  if (!body) {
    return body;
  }
  std::string record(kMagic);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    record.push_back(static_cast<char>((schema->fingerprint() >> shift) & 0xffU));
  }
  return record + *body;
}

Result<DecodedRecord> SchemaRegistry::decode(std::string_view record, const DecodeLimits& limits) const {
  if (record.size() < kHeaderBytes || !record.starts_with(kMagic)) {
    return fail(ErrorCode::kDataLoss, "not Avro single-object encoding: it starts with C3 01 and eight bytes of fingerprint");
  }
  std::uint64_t fingerprint = 0;
  for (std::size_t i = kHeaderBytes; i-- > kMagic.size();) {
    fingerprint = (fingerprint << 8U) | static_cast<std::uint8_t>(record[i]);
  }
  const auto* schema = find(fingerprint);
  if (schema == nullptr) {
    return fail(ErrorCode::kNotFound,
                std::format("no schema here has the fingerprint {:016x}: the record was written by a newer or another program", fingerprint));
  }
  auto json = contracts::decode(*schema, record.substr(kHeaderBytes), limits);
  if (!json) {
    return std::unexpected(json.error());
  }
  return DecodedRecord{.schema = schema->name(), .json = std::move(*json)};
}

}  // namespace outrigger::contracts

#include "lib/contracts/internal/canonical_form.h"

#include <array>
#include <format>
#include <set>

#include "lib/contracts/schema.h"

namespace outrigger::contracts {
namespace {

using internal::Field;
using internal::Kind;
using internal::Node;
using internal::type_name;

// Specification, "Transforming into Parsing Canonical Form". Names need no escaping: is_name allows nothing that would.
void append_canonical(const Node& node, std::set<const Node*>& written, std::string& out) {
  const auto list = [&](const auto& items, auto&& write) {
    bool is_first = true;
    for (const auto& item : items) {
      out += is_first ? "" : ",";
      is_first = false;
      write(item);
    }
  };
  if (!node.name.empty() && !written.insert(&node).second) {
    out += std::format("\"{}\"", node.name);
    return;
  }
  switch (node.kind) {
    case Kind::kRecord:
      out += std::format(R"({{"name":"{}","type":"record","fields":[)", node.name);
      list(node.fields, [&](const Field& field) {
        out += std::format(R"({{"name":"{}","type":)", field.name);
        append_canonical(*field.type, written, out);
        out += '}';
      });
      out += "]}";
      return;
    case Kind::kEnum:
      out += std::format(R"({{"name":"{}","type":"enum","symbols":[)", node.name);
      list(node.symbols, [&](const std::string& symbol) { out += std::format("\"{}\"", symbol); });
      out += "]}";
      return;
    case Kind::kFixed: out += std::format(R"({{"name":"{}","type":"fixed","size":{}}})", node.name, node.size); return;
    case Kind::kArray:
    case Kind::kMap:
      out += node.kind == Kind::kArray ? R"({"type":"array","items":)" : R"({"type":"map","values":)";
      append_canonical(*node.branches.front(), written, out);
      out += '}';
      return;
    case Kind::kUnion:
      out += '[';
      list(node.branches, [&](const Node* branch) { append_canonical(*branch, written, out); });
      out += ']';
      return;
    default: out += std::format("\"{}\"", type_name(node.kind));
  }
}

constexpr std::uint64_t kEmptyFingerprint = 0xc15d213aa4d7a795U;

constexpr std::array<std::uint64_t, 256> make_rabin_table() {
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t i = 0; i < 256; ++i) {
    std::uint64_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1U) ^ ((value & 1U) != 0 ? kEmptyFingerprint : 0);
    }
    table[i] = value;
  }
  return table;
}

constexpr auto kRabinTable = make_rabin_table();

}  // namespace

std::string internal::canonical_form(const Node& root) {
  std::set<const Node*> written;
  std::string out;
  append_canonical(root, written, out);
  return out;
}

std::uint64_t rabin_fingerprint(std::string_view bytes) {
  std::uint64_t fingerprint = kEmptyFingerprint;
  for (const char c : bytes) {
    fingerprint = (fingerprint >> 8U) ^ kRabinTable[(fingerprint ^ static_cast<std::uint8_t>(c)) & 0xffU];
  }
  return fingerprint;
}

}  // namespace outrigger::contracts

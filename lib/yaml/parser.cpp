#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <filesystem>
#include <format>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "lib/yaml/node.h"

namespace outrigger::yaml {
namespace {

constexpr std::size_t kMaxBytes = 4U << 20U;
constexpr std::size_t kMaxDepth = 64;

/// Leaves the parser from inside a callback; caught in parse_documents.
struct Refused {
  Error error;
};

/// Builds the tree from the parser's events: unlike yaml-cpp's own tree they still tell aliases, tags, quotes and duplicates apart.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark&) override { root_.reset(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(node(mark, Node::Kind::kNull, "", anchor)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "aliases (*name) are not supported: write the value out"); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) override {
    auto made = node(mark, Node::Kind::kScalar, tag, anchor);
    made.scalar = value;
    made.quoted = tag == "!";
    add(std::move(made));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, node(mark, Node::Kind::kSequence, tag, anchor));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    open(mark, node(mark, Node::Kind::kMapping, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

  [[nodiscard]] std::optional<Node> take() { return std::exchange(root_, std::nullopt); }

 private:
  struct Open {
    Node node;
    std::optional<Node> key;  ///< of a mapping: read, its value not yet
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, std::string message) const {
    throw Refused{{ErrorCode::kInvalidArgument, std::move(message), std::format("{}:{}:{}", *file_, mark.line + 1, mark.column + 1)}};
  }

  Node node(const YAML::Mark& mark, Node::Kind kind, const std::string& tag, YAML::anchor_t anchor) const {
    if (anchor != YAML::NullAnchor) {
      refuse(mark, "anchors (&name) are not supported: write the value out where it is needed");
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      refuse(mark, std::format("the tag {} is not supported: leave it out", tag));
    }
    Node made;
    made.kind = kind;
    made.file = file_;
    made.line = mark.line + 1;
    made.column = mark.column + 1;
    return made;
  }

  void open(const YAML::Mark& mark, Node made) {
    if (stack_.size() >= kMaxDepth) {
      refuse(mark, std::format("nested deeper than {} levels", kMaxDepth));
    }
    stack_.push_back({std::move(made), std::nullopt});
  }

  void close() {
    auto done = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(done));
  }

  void add(Node made) {
    if (stack_.empty()) {
      root_ = std::move(made);
      return;
    }
    auto& [parent, key] = stack_.back();
    if (parent.kind == Node::Kind::kSequence) {
      parent.items.push_back(std::move(made));
    } else if (!key) {
      check_key(parent, made);
      key = std::move(made);
    } else {
      made.key_line = key->line;
      made.key_column = key->column;
      parent.entries.emplace_back(std::move(key->scalar), std::move(made));
      key.reset();
    }
  }

  void check_key(const Node& parent, const Node& key) const {
    const YAML::Mark mark = [&] {
      YAML::Mark m;
      m.line = key.line - 1;
      m.column = key.column - 1;
      return m;
    }();
    if (key.kind != Node::Kind::kScalar) {
      refuse(mark, "a key must be a plain word or a quoted text");
    }
    if (key.scalar == "<<" && !key.quoted) {
      refuse(mark, "merge keys (<<) are not supported: write the values out");
    }
    if (const auto* first = parent.find(key.scalar)) {
      refuse(mark, std::format("duplicate key '{}': it stands in line {} already; remove one", key.scalar, first->key_line));
    }
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  std::optional<Node> root_;
};

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return fail(ErrorCode::kNotFound, "cannot be opened: check the path and its permissions", path);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return fail(ErrorCode::kNotFound, "cannot be read: it is a folder", path);
  }
  std::string text(std::istreambuf_iterator<char>(in), {});
  return text;
}

Result<Node> only(Result<std::vector<Node>> documents, std::string_view file) {
  if (!documents) {
    return std::unexpected(documents.error());
  }
  if (documents->size() != 1) {
    const std::string where = documents->size() > 1 ? (*documents)[1].where() : std::format("{}:1:1", file);
    return fail(ErrorCode::kInvalidArgument,
                documents->empty() ? "is empty: one YAML document is expected" : "a second document: only one is expected in this file", where);
  }
  return std::move(documents->front());
}

}  // namespace

std::string Node::where() const { return std::format("{}:{}:{}", file ? *file : "", line, column); }

std::string Node::where_key() const { return key_line == 0 ? where() : std::format("{}:{}:{}", file ? *file : "", key_line, key_column); }

const Node* Node::find(std::string_view key) const {
  const auto found = std::ranges::find_if(entries, [&](const auto& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

Result<std::vector<Node>> parse_documents(std::string_view text, std::string_view file) {
  const auto name = std::make_shared<const std::string>(file);
  if (text.size() > kMaxBytes) {
    return fail(ErrorCode::kInvalidArgument, std::format("has {} bytes; at most {} are read", text.size(), kMaxBytes), *name);
  }
  std::vector<Node> documents;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    Builder builder(name);
    while (parser.HandleNextDocument(builder)) {
      if (auto root = builder.take(); root && root->kind != Node::Kind::kNull) {
        documents.push_back(std::move(*root));
      }
    }
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  } catch (const YAML::Exception& problem) {
    return fail(ErrorCode::kInvalidArgument, "is not YAML: " + problem.msg,
                std::format("{}:{}:{}", *name, problem.mark.line + 1, problem.mark.column + 1));
  }
  return documents;
}

Result<Node> parse(std::string_view text, std::string_view file) { return only(parse_documents(text, file), file); }

Result<Node> parse_file(const std::string& path) { return only(parse_file_documents(path), path); }

Result<std::vector<Node>> parse_file_documents(const std::string& path) {
  auto text = read_file(path);
  if (!text) {
    return std::unexpected(text.error());
  }
  return parse_documents(*text, path);
}

}  // namespace outrigger::yaml

#include "lib/config/settings.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <format>
#include <span>

#include "lib/runtime/duration.h"
#include "lib/runtime/lifecycle.h"
#include "lib/yaml/node.h"
#include "lib/yaml/suggest.h"

namespace outrigger::config {
namespace {

std::string join(std::span<const std::string> values, std::string_view separator) {
  std::string text;
  for (const auto& value : values) {
    text += text.empty() ? value : std::string(separator) + value;
  }
  return text;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (const auto part = text.substr(0, comma); !part.empty()) {
      parts.emplace_back(part);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return parts;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + '"';
}

// The text of a plain value; of a sequence its items with commas between.
Result<std::string> scalar(const yaml::Node& node, bool is_list) {
  if (node.kind == yaml::Node::Kind::kScalar) {
    return node.scalar;
  }
  if (node.kind != yaml::Node::Kind::kSequence || !is_list) {
    return fail(ErrorCode::kInvalidArgument, is_list ? "write a list, such as [a, b]" : "write one plain value after the colon");
  }
  std::vector<std::string> items;
  for (const auto& item : node.items) {
    if (item.kind != yaml::Node::Kind::kScalar) {
      return fail(ErrorCode::kInvalidArgument, "the list holds something that is not a plain value");
    }
    items.push_back(item.scalar);
  }
  return join(items, ",");
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

struct Settings::Entry {
  enum class Shape { kValue, kFlag, kList };

  std::string key;
  std::string help;
  std::string type;   // as --help shows it
  std::string value;  // as text; the default until something is read
  std::function<Result<void>(const std::string&)> store;
  Shape shape = Shape::kValue;
  std::string source = "default";
};

struct Settings::Impl {
  std::string program;
  std::string description;
  std::string version;
  std::vector<Entry> entries;

  [[nodiscard]] Entry* find(std::string_view key) {
    const auto entry = std::ranges::find(entries, key, &Entry::key);
    return entry == entries.end() ? nullptr : &*entry;
  }

  [[nodiscard]] std::string suggestion(std::string_view key) const {
    std::vector<std::string_view> keys{"config", "help", "version", "check-config", "print-config"};
    for (const auto& entry : entries) {
      keys.push_back(entry.key);
    }
    return yaml::suggestion(key, keys);
  }

  [[nodiscard]] Reading wrong(std::string_view problem) const { return {exit_code::kUsage, std::format("{}: {}\n", program, problem)}; }
};

Settings::Settings(std::string program, std::string description, std::string version)
    : impl_(std::make_unique<Impl>(Impl{std::move(program), std::move(description), std::move(version), {}})) {}
Settings::~Settings() = default;

void Settings::add(Entry entry) {
  if (impl_->find(entry.key) != nullptr) {
    impossible("a setting is declared twice", entry.key);
  }
  impl_->entries.push_back(std::move(entry));
}

void Settings::text(std::string_view key, std::string& value, std::string_view help) {
  add({.key = std::string(key),
       .help = std::string(help),
       .type = "TEXT",
       .value = value,
       .store = [&value](const std::string& read) -> Result<void> {
         value = read;
         return {};
       }});
}

void Settings::choice(std::string_view key, std::string& value, std::vector<std::string> choices, std::string_view help) {
  auto names = join(choices, "|");
  auto store = [&value, choices = std::move(choices), names](const std::string& read) -> Result<void> {
    if (std::ranges::find(choices, read) == choices.end()) {
      const std::vector<std::string_view> known(choices.begin(), choices.end());
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not one of {}: {}", read, names, yaml::suggestion(read, known)));
    }
    value = read;
    return {};
  };
  add({.key = std::string(key), .help = std::string(help), .type = std::move(names), .value = value, .store = std::move(store)});
}

void Settings::path(std::string_view key, std::filesystem::path& value, std::string_view help) {
  add({.key = std::string(key),
       .help = std::string(help),
       .type = "PATH",
       .value = value.string(),
       .store = [&value](const std::string& read) -> Result<void> {
         value = read;
         return {};
       }});
}

void Settings::flag(std::string_view key, bool& value, std::string_view help) {
  auto store = [&value](const std::string& read) -> Result<void> {
    if (read != "true" && read != "false") {
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is neither true nor false", read));
    }
    value = read == "true";
    return {};
  };
  add({.key = std::string(key),
       .help = std::string(help),
       .type = "",
       .value = value ? "true" : "false",
       .store = std::move(store),
       .shape = Entry::Shape::kFlag});
}

void Settings::port(std::string_view key, std::uint16_t& value, std::string_view help) {
  number<std::uint16_t>(key, value, 0, std::numeric_limits<std::uint16_t>::max(), help);
}

void Settings::real(std::string_view key, double& value, double min, double max, std::string_view help) {
  auto store = [&value, min, max](const std::string& read) -> Result<void> {
    const auto number = parse_number<double>(read);
    if (!number || !(*number >= min && *number <= max)) {
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not a number from {} to {}", read, min, max));
    }
    value = *number;
    return {};
  };
  add({.key = std::string(key), .help = std::string(help), .type = "NUMBER", .value = std::format("{}", value), .store = std::move(store)});
}

void Settings::list(std::string_view key, std::vector<std::string>& value, std::string_view help) {
  auto store = [&value](const std::string& read) -> Result<void> {
    value = split(read);
    return {};
  };
  add({.key = std::string(key),
       .help = std::string(help),
       .type = "A,B,…",
       .value = join(value, ","),
       .store = std::move(store),
       .shape = Entry::Shape::kList});
}

void Settings::add_number(std::string_view key, std::int64_t value, std::int64_t min, std::int64_t max, std::function<void(std::int64_t)> store,
                          std::string_view help) {
  auto checked = [min, max, store = std::move(store)](const std::string& read) -> Result<void> {
    const auto number = parse_number<std::int64_t>(read);
    if (!number || *number < min || *number > max) {
      return fail(ErrorCode::kInvalidArgument, std::format("'{}' is not a whole number from {} to {}", read, min, max));
    }
    store(*number);
    return {};
  };
  add({.key = std::string(key), .help = std::string(help), .type = "NUMBER", .value = std::to_string(value), .store = std::move(checked)});
}

void Settings::add_duration(std::string_view key, std::chrono::nanoseconds value, std::chrono::nanoseconds min, std::chrono::nanoseconds max,
                            std::chrono::nanoseconds resolution, std::function<void(std::chrono::nanoseconds)> store, std::string_view help) {
  auto checked = [=, store = std::move(store)](const std::string& read) -> Result<void> {
    const auto duration = parse_duration(read);
    if (!duration) {
      return std::unexpected(duration.error());
    }
    if (*duration < min || *duration > max) {
      return fail(ErrorCode::kInvalidArgument, std::format("{} is not from {} to {}", read, format_duration(min), format_duration(max)));
    }
    if (*duration % resolution != std::chrono::nanoseconds{0}) {
      return fail(ErrorCode::kInvalidArgument, std::format("{} is finer than this setting's unit, {}", read, format_duration(resolution)));
    }
    store(*duration);
    return {};
  };
  add({.key = std::string(key), .help = std::string(help), .type = "DURATION", .value = format_duration(value), .store = std::move(checked)});
}

Result<void> Settings::read_file(const std::string& file) {
  const auto documents = yaml::parse_file_documents(file);
  if (!documents) {
    return std::unexpected(documents.error());
  }
  if (documents->empty()) {
    return {};
  }
  const auto& root = documents->front();
  if (documents->size() > 1 || root.kind != yaml::Node::Kind::kMapping) {
    return fail(ErrorCode::kInvalidArgument, "a settings file is one YAML mapping: a line `key: value` for each setting", documents->back().where());
  }
  for (const auto& [key, node] : root.entries) {
    auto* entry = impl_->find(key);
    if (entry == nullptr) {
      return fail(ErrorCode::kInvalidArgument, std::format("unknown key {}: {}", key, impl_->suggestion(key)), node.where_key());
    }
    const auto value = scalar(node, entry->shape == Entry::Shape::kList);
    if (!value) {
      return fail(value.error().code, std::format("{}: {}", key, value.error().message), node.where_key());
    }
    const bool is_overridden = entry->source == "flag";
    // Values that a flag overrides are still checked: a file is right or wrong by itself.
    if (const auto stored = entry->store(*value); !stored) {
      return fail(stored.error().code, std::format("{}: {}", key, stored.error().message), node.where());
    }
    if (is_overridden) {
      (void)entry->store(entry->value);
    } else {
      entry->value = *value;
      entry->source = node.where();
    }
  }
  return {};
}

Reading Settings::read(const std::vector<std::string>& arguments) {
  CLI::App app(impl_->description, impl_->program);
  app.get_formatter()->column_width(40);
  std::string file;
  bool check_only = false;
  bool print_only = false;
  app.set_version_flag("--version", std::format("{} {}", impl_->program, impl_->version));
  app.add_option("--config", file, "YAML file with the same keys as the flags, which win")->type_name("FILE");
  app.add_flag("--check-config", check_only, "Read and check the settings, then end");
  app.add_flag("--print-config", print_only, "Print the settings in effect as YAML, then end");
  std::vector<std::vector<std::string>> given(impl_->entries.size());
  std::vector<std::string> flags(impl_->entries.size());
  std::vector<const CLI::Option*> options;
  for (std::size_t i = 0; i < impl_->entries.size(); ++i) {
    auto& entry = impl_->entries[i];
    const auto name = "--" + entry.key;
    if (entry.shape == Entry::Shape::kFlag) {
      options.push_back(app.add_flag(name, flags[i], entry.help));
      continue;
    }
    auto* option = app.add_option(name, given[i], entry.help)->type_name(entry.type)->default_str(entry.value)->allow_extra_args(false);
    if (entry.shape == Entry::Shape::kValue) {
      option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
    options.push_back(option);
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return {exit_code::kOk, app.help()};
  } catch (const CLI::CallForVersion&) {
    return {exit_code::kOk, app.version() + "\n"};
  } catch (const CLI::ExtrasError&) {
    const auto extra = app.remaining().empty() ? std::string{} : app.remaining().front();
    const auto bare = extra.substr(std::min(extra.find_first_not_of('-'), extra.size()),
                                   extra.find('=') == std::string::npos ? std::string::npos : extra.find('=') - 2);
    return impl_->wrong(std::format("unknown argument {}: {}", extra, impl_->suggestion(bare)));
  } catch (const CLI::ParseError& problem) {
    return impl_->wrong(std::format("{}; {} --help lists the flags", problem.what(), impl_->program));
  }
  for (std::size_t i = 0; i < impl_->entries.size(); ++i) {
    if (options[i]->count() == 0) {
      continue;
    }
    auto& entry = impl_->entries[i];
    entry.value = entry.shape == Entry::Shape::kFlag ? flags[i] : join(given[i], ",");
    entry.source = "flag";
    if (const auto stored = entry.store(entry.value); !stored) {
      return impl_->wrong(std::format("--{}: {}", entry.key, stored.error().message));
    }
  }
  if (!file.empty()) {
    if (const auto read = read_file(file); !read) {
      return {exit_code::kBadConfiguration, std::format("{}: {}\n", impl_->program, read.error().to_string())};
    }
  }
  if (print_only) {
    return {exit_code::kOk, effective()};
  }
  if (check_only) {
    return {exit_code::kOk, "the settings are valid\n"};
  }
  return {};
}

std::optional<int> Settings::read(int argc, const char* const* argv) {
  const auto reading = read(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
  if (reading.exit_code) {
    std::fputs(reading.text.c_str(), *reading.exit_code == exit_code::kOk ? stdout : stderr);
  }
  return reading.exit_code;
}

std::string Settings::effective() const {
  std::string text;
  for (const auto& entry : impl_->entries) {
    std::string value = double_quoted(entry.value);
    if (entry.shape == Entry::Shape::kFlag || entry.type == "NUMBER") {
      value = entry.value;
    } else if (entry.shape == Entry::Shape::kList) {
      std::vector<std::string> items;
      for (const auto& item : split(entry.value)) {
        items.push_back(double_quoted(item));
      }
      value = "[" + join(items, ", ") + "]";
    }
    text += std::format("{}: {}  # {}\n", entry.key, value, entry.source);
  }
  return text;
}

}  // namespace outrigger::config

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/runtime/error.h"

namespace outrigger::saga {

/// How often a command is sent again under the same key, and how long to wait between.
struct RetryPolicy {
  std::uint32_t attempts = 5;              ///< sends in all, the first one included; at least 1
  std::chrono::milliseconds backoff{200};  ///< before the second send; doubles by `multiplier`
  std::chrono::milliseconds max_backoff{10'000};
  double multiplier = 2.0;
};

struct Compensation {
  std::string url;                           ///< where the undo is posted; set if and only if the step has one
  std::string command;                       ///< type of the undo, such as "ReleaseInventory"
  std::chrono::milliseconds timeout{5'000};  ///< of one attempt
  RetryPolicy retry{.attempts = 10};
};

struct Step {
  std::string name;
  std::string topic;                         ///< where its commands go, such as "cmd.inventory"; empty when it has a url
  std::string url;                           ///< where its do is posted, such as "http://127.0.0.1:9000/reserve", or empty
  std::string command;                       ///< type of the do, such as "ReserveInventory"
  std::vector<std::string> after;            ///< steps that must have succeeded before
  std::chrono::milliseconds timeout{5'000};  ///< of one attempt
  RetryPolicy retry;
  std::optional<Compensation> compensate;  ///< absent: the step leaves nothing to undo
  bool pivot = false;                      ///< the point of no return: once it has succeeded the saga only goes forward
};

/// A saga definition: immutable, named by (name, version) and by the hash of its content.
///
///     apiVersion: outrigger/v1
///     kind: SagaDefinition
///     metadata: {name: order-fulfilment, version: 1}
///     spec:
///       deadline: 2m                       # then what was done is undone
///       steps:
///         - name: reserve-inventory
///           topic: cmd.inventory
///           command: ReserveInventory
///           timeout: 2s
///           retry: {attempts: 5, backoff: 200ms, maxBackoff: 10s, multiplier: 2}
///           compensate: {command: ReleaseInventory, timeout: 2s, retry: {attempts: 10}}
///         - name: schedule-logistics
///           after: [reserve-inventory]
///           …
///
/// Instead of `topic` a step may name `url: http://127.0.0.1:9000/reserve`; `compensate` then has its own `url`, or the step's.
/// Steps form a graph by `after`: what does not wait for each other runs at the same time. At most one step is the pivot, and every
/// other comes before or after it; those after it have no `compensate`, since they are never undone.
/// The JSON Schema of the file is api/schemas/saga-definition.schema.json.
struct Definition {
  std::string name;
  std::uint32_t version = 1;
  std::string description;
  std::chrono::milliseconds deadline{60'000};
  std::vector<Step> steps;  ///< every step comes later than the steps of its `after`
  std::string hash;         ///< SHA-256 (hex) of `body`
  std::string body;         ///< canonical text, every default spelled out; parses to the same definition

  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view step) const;
  [[nodiscard]] std::optional<std::size_t> pivot() const;
};

/// Reads one definition. Formatting and comments do not change the hash.
/// Errors: kInvalidArgument with every problem found, one a line, as "file:line:column: what; remedy".
[[nodiscard]] Result<Definition> parse_definition(std::string_view text, std::string_view file_name);

/// Definitions that sagas are started from. Immutable after loading, so safe to share between threads.
class Catalog final {
 public:
  /// Every *.yaml and *.yml in a folder, not below it.
  /// Errors: kNotFound (no such folder, or no definition in it), kInvalidArgument (a file is wrong, or two disagree about one version).
  [[nodiscard]] static Result<Catalog> load(const std::filesystem::path& folder);

  /// Errors: kAlreadyExists when the same name and version is there with another content.
  [[nodiscard]] Result<void> add(Definition definition);

  /// These and those of `more`, which may repeat some. Errors: as add(); what is wrong is named.
  [[nodiscard]] Result<Catalog> merged_with(const Catalog& more) const;

  /// The highest version, or nothing.
  [[nodiscard]] std::shared_ptr<const Definition> latest(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const Definition> by_hash(std::string_view hash) const;
  [[nodiscard]] std::vector<std::shared_ptr<const Definition>> all() const;

 private:
  [[nodiscard]] Result<void> add(std::shared_ptr<const Definition> definition);
  std::map<std::string, std::map<std::uint32_t, std::shared_ptr<const Definition>>, std::less<>> by_name_;
};

}  // namespace outrigger::saga

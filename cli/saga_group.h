#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace outrigger::cli {

/// What the commands of the group `saga` share. Each file cli/saga_NAME.cpp adds its own.
struct SagaGroup {
  CommandLine& command_line;
  CLI::App& app;

  /// A command with --url, which is stored in `url`; `url` lives as long as the command line.
  CLI::App& add(const std::string& name, const std::string& description, std::string& url, Action action) const;
};

inline constexpr const char* kDefaultServiceUrl = "http://127.0.0.1:8080";

/// As the API writes them.
[[nodiscard]] const std::vector<std::string>& saga_statuses();

void add_saga_start(const SagaGroup& group);    ///< start
void add_saga_read(const SagaGroup& group);     ///< get, list
void add_saga_watch(const SagaGroup& group);    ///< watch
void add_saga_operate(const SagaGroup& group);  ///< cancel, pause, resume, retry, skip, complete, compensate, abandon

}  // namespace outrigger::cli

#pragma once

#include <optional>

#include "chaos/spec/scenario.h"
#include "lib/yaml/reader.h"

namespace outrigger::chaos {

/// Reads `spec.parameters`, applies the overrides and replaces `${name}` in every value of `spec` but the parameters; `$${` stands for `${`.
/// Returns the parameters as used.
[[nodiscard]] Texts substitute_parameters(yaml::Node& document, const Texts& overrides, yaml::Problems& problems);

[[nodiscard]] Fault read_fault(const yaml::Node& node, const Phases& phases, yaml::Problems& problems);

/// 1 to 30 of a-z, 0-9, '-', '_' and '.', beginning with a letter or digit: with the run's id in front it is still an id that the sidecar takes.
[[nodiscard]] std::string read_id(yaml::Mapping& mapping, yaml::Problems& problems);

/// A decimal number from 0 to 1.
[[nodiscard]] std::optional<double> read_ratio(const yaml::Node& node, std::string_view key, yaml::Problems& problems);

}  // namespace outrigger::chaos

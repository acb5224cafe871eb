#pragma once

#include <span>
#include <string>
#include <string_view>

namespace outrigger::yaml {

/// What an unknown name may have been meant to be: "did you mean 'timeout'?", or "known here: a, b, c" when none is near.
/// Near: at most one edit in three letters (insert, delete, replace, swap of neighbours), case ignored.
[[nodiscard]] std::string suggestion(std::string_view unknown, std::span<const std::string_view> known);

}  // namespace outrigger::yaml

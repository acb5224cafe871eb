#include "lib/kafka/record.h"

#include <format>
#include <ranges>

namespace outrigger::kafka {

std::optional<std::string_view> ReceivedRecord::header(std::string_view name) const {
  for (const auto& [header_name, header_value] : std::views::reverse(headers)) {
    if (header_name == name) {
      return header_value;
    }
  }
  return std::nullopt;
}

std::string ReceivedRecord::position() const { return std::format("{}/{}@{}", topic, partition, offset); }

}  // namespace outrigger::kafka

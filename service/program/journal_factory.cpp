#include "service/program/journal_factory.h"

#include <system_error>

#include "service/journal/embedded_journal.h"

namespace outrigger::service {

Result<std::unique_ptr<journal::Journal>> open_journal(const ServiceSettings& settings, telemetry::Registry& /*registry*/) {
  if (settings.uses_kafka()) {
    return fail(ErrorCode::kUnimplemented, "this build has no Kafka journal: use --journal embedded");
  }
  std::error_code problem;
  std::filesystem::create_directories(settings.data_dir, problem);
  if (problem) {
    return fail(ErrorCode::kPermissionDenied, std::format("cannot make the data folder: {}: choose another with --data-dir", problem.message()),
                settings.data_dir.string());
  }
  return journal::open_embedded_journal({.folder = settings.data_dir / "journal", .partitions = settings.partitions});
}

}  // namespace outrigger::service

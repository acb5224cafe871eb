#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/runtime/error.h"
#include "lib/telemetry/metrics.h"
#include "service/saga/definition.h"

namespace outrigger::service {

/// Looks at the folder of definitions at an interval and hands on what is there when it has changed, so that a definition is added
/// without a restart. It reads contents, not change events: a mounted ConfigMap changes by swapping a symbolic link, and a network
/// file system tells nobody. The folder is taken whole or not at all.
class DefinitionWatch final {
 public:
  struct Settings {
    std::filesystem::path folder;
    std::chrono::milliseconds interval{5'000};  ///< 0: never
  };
  /// Takes in what is new of a folder without faults, and returns that; an error refuses the whole.
  using Adopt = std::function<Result<std::vector<std::shared_ptr<const saga::Definition>>>(const saga::Catalog& found)>;

  /// The folder is taken as known as it is now. `registry` outlives the watch.
  DefinitionWatch(Settings settings, Adopt adopt, telemetry::Registry& registry);

  void start();
  void stop();  ///< idempotent
  /// One look; what start() does at the interval. One thread at a time.
  void look();

 private:
  const Settings settings_;
  const Adopt adopt_;
  telemetry::Counter& added_;
  telemetry::Counter& refused_;
  telemetry::Gauge& is_refused_;
  std::string seen_;
  std::jthread thread_;
};

}  // namespace outrigger::service

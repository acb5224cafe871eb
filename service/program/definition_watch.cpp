#include "service/program/definition_watch.h"

#include <algorithm>
#include <condition_variable>
#include <format>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stop_token>

#include "lib/telemetry/log.h"
#include "service/program/metrics.h"

namespace outrigger::service {
namespace {

/// Names and contents of all files; what cannot be read differs from what can.
std::string contents_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    if (entry->is_regular_file(problem)) {
      files.push_back(entry->path());
    }
  }
  std::ranges::sort(files);
  std::string contents = problem ? problem.message() : "";
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    contents += std::format("{}\n{}{}\n{}", file.filename().string(), stream ? "" : "unreadable ", text.size(), text);
  }
  return contents;
}

}  // namespace

DefinitionWatch::DefinitionWatch(Settings settings, Adopt adopt, telemetry::Registry& registry)
    : settings_(std::move(settings)),
      adopt_(std::move(adopt)),
      added_(registry.counter(metrics::kDefinitionReloads, {{"result", "added"}})),
      refused_(registry.counter(metrics::kDefinitionReloads, {{"result", "refused"}})),
      is_refused_(registry.gauge(metrics::kDefinitionsRefused)),
      seen_(contents_of(settings_.folder)) {}

void DefinitionWatch::look() {
  auto contents = contents_of(settings_.folder);
  if (contents == seen_) {
    return;
  }
  seen_ = std::move(contents);
  const auto added = saga::Catalog::load(settings_.folder).and_then(adopt_);
  is_refused_.set(added ? 0 : 1);
  if (!added) {
    refused_.add();
    telemetry::log(telemetry::LogLevel::kError, "the folder of saga definitions has changed and is refused: the definitions before stay",
                   {{"error", added.error().to_string()}});
    return;
  }
  if (!added->empty()) {
    added_.add();
  }
  for (const auto& definition : *added) {
    telemetry::log(telemetry::LogLevel::kInfo, "a saga definition was added",
                   {{"definition", definition->name}, {"version", std::to_string(definition->version)}});
  }
}

void DefinitionWatch::start() {
  if (settings_.interval <= settings_.interval.zero()) {
    return;
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, settings_.interval, [&] { return stop.stop_requested(); })) {
      look();
    }
  });
}

void DefinitionWatch::stop() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace outrigger::service

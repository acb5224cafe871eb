#include "chaos/runner/environment.h"

#include <algorithm>
#include <cctype>

#include "chaos/drivers/http_probe.h"
#include "chaos/drivers/sidecar_driver.h"
#include "lib/runtime/lifecycle.h"

namespace outrigger::chaos {

Environment real_environment(StopSignal& signal, std::function<void(std::string_view)> progress) {
  return {.make_driver = [](const std::string&, const std::string& admin) { return make_sidecar_driver(admin); },
          .check_probe = check_probe,
          .wait_for_stop = [&signal](std::chrono::milliseconds timeout) { return signal.wait_for(timeout); },
          .progress = std::move(progress),
          .clean_up_budget = std::chrono::seconds{10}};
}

std::string armed_id(const std::string& run_id, const Fault& fault) {
  std::string id = "chaos-" + run_id + "-" + fault.id;
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return id;
}

}  // namespace outrigger::chaos

#pragma once

#include "service/http_participants/http_transport.h"
#include "service/orders/in_process_transport.h"
#include "service/saga/transport.h"

namespace outrigger::service {

/// Chooses the carrier of a command by its destination: a URL goes out by HTTP, a topic to a participant in this process.
class Carriers final : public saga::CommandTransport {
 public:
  /// Both outlive it.
  Carriers(orders::InProcessTransport& in_process, http_participants::HttpTransport& http) : in_process_(in_process), http_(http) {}

  [[nodiscard]] bool offer(const participant::Command& command) override {
    return http_participants::HttpTransport::serves(command.destination) ? http_.offer(command) : in_process_.offer(command);
  }

 private:
  orders::InProcessTransport& in_process_;
  http_participants::HttpTransport& http_;
};

}  // namespace outrigger::service

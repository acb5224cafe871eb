#include <algorithm>
#include <charconv>
#include <format>

#include "chaos/spec/internal/readers.h"
#include "lib/runtime/duration.h"

namespace outrigger::chaos {
namespace {

using std::chrono::nanoseconds;

HttpMatch read_match(const yaml::Node& node, yaml::Problems& problems) {
  HttpMatch match;
  yaml::Mapping mapping(node, problems, "match");
  if (const auto* http = mapping.require("http")) {
    yaml::Mapping fields(*http, problems, "match.http");
    match.method = fields.get_choice("method", "", {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"});
    match.path_prefix = fields.get_text("path_prefix");
    if (!match.path_prefix.empty() && !match.path_prefix.starts_with('/')) {
      fields.problem(*http->find("path_prefix"), "path_prefix: must begin with '/'");
    }
    match.headers = fields.get_map("headers");
    if (match.headers.size() > 8) {
      fields.problem(*http->find("headers"), "headers: at most 8");
    }
    fields.finish();
  }
  mapping.finish();
  return match;
}

Trigger read_trigger(const yaml::Node& node, yaml::Problems& problems) {
  Trigger trigger;
  yaml::Mapping mapping(node, problems, "trigger");
  trigger.percent_ppm = static_cast<std::uint32_t>(mapping.get_integer("percent_ppm", trigger.percent_ppm, 1, 1'000'000));
  trigger.seed = static_cast<std::uint64_t>(mapping.get_integer("seed", 0, 0, std::numeric_limits<std::int64_t>::max()));
  mapping.finish();
  return trigger;
}

std::variant<Delay, Abort> read_action(const yaml::Node& node, yaml::Problems& problems) {
  std::variant<Delay, Abort> action;
  yaml::Mapping mapping(node, problems, "action");
  const auto* delay = mapping.find("delay");
  const auto* abort = mapping.find("abort");
  mapping.finish();
  if ((delay == nullptr) == (abort == nullptr)) {
    problems.add(node.where(), "action: give exactly one of delay and abort");
  } else if (delay != nullptr) {
    yaml::Mapping fields(*delay, problems, "action.delay");
    const Delay read{fields.require_duration("fixed"), fields.get_duration("jitter", nanoseconds{0})};
    fields.finish();
    if (read.fixed + read.jitter <= nanoseconds{0} && delay->find("fixed") != nullptr) {
      problems.add(delay->where(), "delay: a delay of 0 does nothing; give more");
    }
    action = read;
  } else {
    yaml::Mapping fields(*abort, problems, "action.abort");
    action = Abort{static_cast<int>(fields.require("status") == nullptr ? 503 : fields.get_integer("status", 503, 400, 599))};
    fields.finish();
  }
  return action;
}

Proof read_proof(const yaml::Node& node, yaml::Problems& problems) {
  Proof proof;
  yaml::Mapping mapping(node, problems, "proof");
  proof.min_hits = static_cast<std::uint64_t>(mapping.get_integer("min_hits", 1, 1, std::numeric_limits<std::int64_t>::max()));
  if (const auto* shift = mapping.find("p50_shift")) {
    yaml::Mapping band(*shift, problems, "proof.p50_shift");
    if (shift->find("min") != nullptr) {
      proof.min_shift = band.require_duration("min");
    }
    if (shift->find("max") != nullptr) {
      proof.max_shift = band.require_duration("max");
    }
    band.allow("min");
    band.allow("max");
    band.finish();
    if (proof.min_shift && proof.max_shift && *proof.min_shift > *proof.max_shift) {
      problems.add(shift->where(), "proof.p50_shift: min is above max, so nothing can prove it");
    }
  }
  mapping.finish();
  return proof;
}

void check_ttl(const yaml::Node& at, nanoseconds ttl, const Phases& phases, yaml::Problems& problems) {
  if (ttl > kLongestTtl) {
    problems.add(at.where(), std::format("ttl: {} is more than {}, the longest a fault may outlive a dead runner", format_duration(ttl),
                                         format_duration(kLongestTtl)));
  } else if (ttl < phases.inject + kTtlMargin) {
    problems.add(at.where(), std::format("ttl: {} does not cover inject ({}) and {} to read and revert the fault: raise it to {} or shorten inject",
                                         format_duration(ttl), format_duration(phases.inject), format_duration(kTtlMargin),
                                         format_duration(phases.inject + kTtlMargin)));
  }
}

}  // namespace

std::string read_id(yaml::Mapping& mapping, yaml::Problems& problems) {
  auto id = mapping.require_text("id");
  const auto is_alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool is_good = id.size() <= 30 && std::ranges::all_of(id, [&](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
  if (!id.empty() && (!is_good || !is_alphanumeric(id.front()))) {
    problems.add(mapping.find("id")->where(),
                 std::format("id: '{}' must be 1 to 30 of a-z, 0-9, '-', '_' and '.', beginning with a letter or digit", id));
  }
  return id;
}

std::optional<double> read_ratio(const yaml::Node& node, std::string_view key, yaml::Problems& problems) {
  double value = -1;
  const auto* end = node.scalar.data() + node.scalar.size();
  const auto [stopped, failure] = std::from_chars(node.scalar.data(), end, value);
  if (node.kind != yaml::Node::Kind::kScalar || failure != std::errc{} || stopped != end || !(value >= 0 && value <= 1)) {
    problems.add(node.where(), std::format("{}: expected a ratio from 0 to 1, such as 0.001", key));
    return std::nullopt;
  }
  return value;
}

Fault read_fault(const yaml::Node& node, const Phases& phases, yaml::Problems& problems) {
  Fault fault;
  yaml::Mapping mapping(node, problems, "fault");
  fault.id = read_id(mapping, problems);
  fault.driver = mapping.get_choice("driver", "sidecar", {"sidecar"});
  if (const auto* target = mapping.require("target")) {
    yaml::Mapping fields(*target, problems, "target");
    fault.admin = fields.require_text("admin");
    if (!fault.admin.empty() && (!fault.admin.starts_with("unix:///") || fault.admin.ends_with('/'))) {
      fields.problem(*target->find("admin"),
                     std::format("admin: '{}' is not the address of a unix socket: write unix:///run/outrigger/admin.sock", fault.admin));
    }
    fields.finish();
  }
  if (const auto* match = mapping.require("match")) {
    fault.match = read_match(*match, problems);
  }
  if (const auto* trigger = mapping.find("trigger")) {
    fault.trigger = read_trigger(*trigger, problems);
  }
  if (const auto* action = mapping.require("action")) {
    fault.action = read_action(*action, problems);
  }
  fault.ttl = mapping.require_duration("ttl");
  if (const auto* ttl = node.find("ttl"); ttl != nullptr && fault.ttl > nanoseconds{0}) {
    check_ttl(*ttl, fault.ttl, phases, problems);
  }
  if (const auto* proof = mapping.find("proof")) {
    fault.proof = read_proof(*proof, problems);
  }
  mapping.finish();
  return fault;
}

}  // namespace outrigger::chaos
